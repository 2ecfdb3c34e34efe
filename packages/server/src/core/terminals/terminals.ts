import { fixedLimits, workspacePath } from '@mayfly/contract';
import { Places } from '../budgets/places.ts';
import { ApiError, oneLine } from '../errors/api-error.ts';
import { requireUsableSandbox } from '../executions/admit.ts';
import type { LiveMachine } from '../machines/live-machine.ts';
import { publicReason } from '../machines/public-reason.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import type { BalanceNeeds } from '../money/balance.ts';
import { GuestRefusal, GuestUnreachable, type TerminalChannel } from '../ports/guest-agent.ts';
import type { Ids, Log } from '../ports/runtime.ts';
import type { Screens, TerminalSize } from '../ports/screens.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import { getSandbox, type ReadSandboxNeeds, requireRunning } from '../sandboxes/read.ts';
import { type SessionOptions, TerminalSession } from './session.ts';

/** What opening terminals needs. */
export type TerminalNeeds = ReadSandboxNeeds &
  BalanceNeeds & {
    readonly machines: MachineRegistry;
    readonly terminals: Terminals;
    readonly screens: Screens;
    readonly ids: Ids;
    readonly log: Log;
  };

/** A terminal that has nobody to look at it is forgotten after this long. The agent hangs it up then. */
const maxIdleMs = 2 * 3_600_000;
export const defaultSize: TerminalSize = { cols: 80, rows: 24 };
const sessionId = /^term_[a-z2-7]{1,64}$/;

/** The terminals that this process knows. */
export class Terminals {
  readonly places = new Places({
    perSandbox: fixedLimits.terminalsPerSandbox,
    perAccount: fixedLimits.terminalsPerAccount,
  });
  /**
   * By the ids of sandbox and terminal, because the agent of another sandbox could claim to have this terminal. While one is being connected too, so
   * that two clients that come back at once share it.
   */
  readonly known = new Map<string, { readonly live: LiveMachine; readonly session: Promise<TerminalSession> }>();
}

/** Which terminal a client wants: a new one, or one that is running. */
export interface TerminalRequest {
  readonly session: string | undefined;
  /** Of a new terminal. */
  readonly size: TerminalSize | undefined;
}

/** Starts a terminal, or connects to a running one, which keeps its size for now. The caller joins it, or releases it. */
export async function openTerminal(
  core: TerminalNeeds,
  account: AccountRecord,
  sandboxId: string,
  { session: id, size }: TerminalRequest,
): Promise<TerminalSession> {
  await requireUsableSandbox(core, account, sandboxId);
  try {
    const place = { account, sandboxId, live: core.machines.get(sandboxId) };
    if (id === undefined) return await start(core, place, size ?? defaultSize);
    if (!sessionId.test(id)) throw new GuestRefusal('not_found', 'no such terminal');
    return await connect(core, place, id);
  } catch (error) {
    throw refusalOf(error, id);
  }
}

/** The ids of the terminals that are running in a sandbox, with or without a client, in no particular order. The guest says which: it may omit some or invent others. */
export async function listTerminals(
  core: Pick<TerminalNeeds, 'store' | 'machines'>,
  account: AccountRecord,
  sandboxId: string,
): Promise<readonly string[]> {
  requireRunning(await getSandbox(core, account, sandboxId));
  try {
    const live = core.machines.get(sandboxId);
    const agent = await live.agent();
    const ids = await live.whileAlive(agent.listTerminals());
    return ids.filter((id) => sessionId.test(id));
  } catch (cause) {
    if (!(cause instanceof GuestRefusal || cause instanceof GuestUnreachable)) throw cause;
    const reason = publicReason(cause, 'the connection to the machine failed');
    throw new ApiError('execution_failed', `The terminals could not be listed: ${reason}.`, { cause });
  }
}

/** Where a terminal is, and whose it is. */
interface TerminalPlace {
  readonly account: AccountRecord;
  readonly sandboxId: string;
  readonly live: LiveMachine;
}

async function start(core: TerminalNeeds, place: TerminalPlace, size: TerminalSize): Promise<TerminalSession> {
  const { live } = place;
  const id = core.ids.next('term');
  return await remember(core, place, { id, size, isNew: true }, async () => {
    const agent = await live.agent();
    return await live.whileAlive(agent.startTerminal(id, size, workspacePath));
  });
}

async function connect(core: TerminalNeeds, place: TerminalPlace, id: string): Promise<TerminalSession> {
  const { live, sandboxId } = place;
  const known = core.terminals.known.get(keyOf(sandboxId, id));
  // A terminal ends with its machine, also if another one takes its place.
  if (known?.live === live) {
    const session = await known.session;
    await session.connect();
    return session;
  }
  return await remember(core, place, { id, size: defaultSize, isNew: false }, async () => {
    const agent = await live.agent();
    return await live.whileAlive(agent.viewTerminal(id, 0));
  });
}

function keyOf(sandboxId: string, id: string): string {
  return `${sandboxId} ${id}`;
}

/** Makes the session of a terminal and connects it. It takes a place until the terminal ends or is forgotten. */
function remember(
  core: TerminalNeeds,
  { account, sandboxId, live }: TerminalPlace,
  terminal: Pick<SessionOptions, 'id' | 'size' | 'isNew'>,
  open: () => Promise<TerminalChannel>,
): Promise<TerminalSession> {
  const { known, places } = core.terminals;
  const key = keyOf(sandboxId, terminal.id);
  const leave = places.take(account.id, sandboxId);
  if (typeof leave === 'string') throw tooMany(leave, places.limits[leave]);
  const forget = () => {
    leave();
    if (known.get(key) === entry) known.delete(key);
  };
  const make = async () => {
    const channel = await open();
    const idle = idleTimer(() => session);
    const onEnd = () => {
      idle.stop();
      forget();
    };
    const screen = core.screens.open(terminal.size);
    const session = new TerminalSession({ ...terminal, live, screen, log: core.log, onEnd, onIdle: idle.start });
    await session.connect(channel);
    return session;
  };
  const entry = { live, session: make() };
  known.set(key, entry);
  entry.session.catch(forget);
  return entry.session;
}

/** Forgets a session that nobody has joined for too long. */
function idleTimer(session: () => TerminalSession): { readonly start: () => void; readonly stop: () => void } {
  let timer: NodeJS.Timeout | undefined;
  const stop = () => clearTimeout(timer);
  const look = () => {
    if (!session().hasClients) session().forget();
  };
  return {
    start: () => {
      stop();
      timer = setTimeout(look, maxIdleMs).unref();
    },
    stop,
  };
}

function tooMany(limit: 'perSandbox' | 'perAccount', count: number): ApiError {
  const owner = limit === 'perSandbox' ? 'sandbox' : 'account';
  const message = `Too many terminals: ${count} of this ${owner} are open. Close one, then try again.`;
  return new ApiError('rate_limit_exceeded', message);
}

/** What the caller is told when the agent refuses or cannot be reached. */
function refusalOf(cause: unknown, id: string | undefined): unknown {
  if (cause instanceof GuestRefusal) {
    if (cause.code === 'not_found' && id !== undefined) {
      return new ApiError('not_found', 'This terminal has ended, or never existed. Open a new one without `session`.', {
        cause,
      });
    }
    if (cause.code === 'too_many') {
      return new ApiError(
        'rate_limit_exceeded',
        `Too many terminals in this sandbox: ${oneLine(cause)}. Close one, then try again.`,
        { cause },
      );
    }
  }
  if (!(cause instanceof GuestRefusal || cause instanceof GuestUnreachable)) return cause;
  const reason = publicReason(cause, 'the connection to the machine failed');
  return new ApiError('execution_failed', `The terminal could not be opened: ${reason}.`, { cause });
}
