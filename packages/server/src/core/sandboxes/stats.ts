import { setTimeout as wait } from 'node:timers/promises';
import { ApiError } from '../errors/api-error.ts';
import { publicReason } from '../machines/public-reason.ts';
import type { MachineRegistry } from '../machines/registry.ts';
import { type GuestStats, GuestUnreachable } from '../ports/guest-agent.ts';
import type { AccountRecord } from '../ports/store/account-store.ts';
import type { SandboxRecord } from '../ports/store/sandbox-store.ts';
import { getSandbox, type ReadSandboxNeeds, requireRunning } from './read.ts';

/** What measuring sandboxes needs. */
export type StatsNeeds = ReadSandboxNeeds & { readonly machines: MachineRegistry };

/** A measurement, and how busy the processors were since the one before it; 100 is one of them. */
export interface SandboxStats extends GuestStats {
  readonly cpuPercent: number;
}

/** Between the two measurements of a single one. */
const sampleMs = 250;
/** The pause before a sandbox that does not answer is asked again. */
const retryMs = 1_000;

/** What a running sandbox uses. */
export async function measureSandbox(core: StatsNeeds, account: AccountRecord, id: string): Promise<SandboxStats> {
  requireRunning(await getSandbox(core, account, id));
  try {
    const before = await sample(core, id);
    await wait(sampleMs);
    return statsBetween(before, await sample(core, id));
  } catch (error) {
    throw unreachable(error);
  }
}

/** What a reader of measurements gets: one after the other, and how the sandbox ended. */
export type StatsEvent =
  | { readonly kind: 'stats'; readonly stats: SandboxStats }
  | { readonly kind: 'end'; readonly status: SandboxRecord['status'] };

/** Measures a running sandbox again and again until it ends. Throws when the signal is aborted. */
export async function* measureRepeatedly(
  core: StatsNeeds,
  account: AccountRecord,
  id: string,
  { intervalMs, signal }: { readonly intervalMs: number; readonly signal: AbortSignal },
): AsyncGenerator<StatsEvent, void> {
  let before: GuestStats | undefined;
  for (;;) {
    const { status } = await getSandbox(core, account, id);
    if (status !== 'running') {
      yield { kind: 'end', status };
      return;
    }
    try {
      before ??= await sampleAfterPause(core, id, signal);
      const now = await sample(core, id);
      yield { kind: 'stats', stats: statsBetween(before, now) };
      before = now;
      await wait(intervalMs, undefined, { signal });
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof GuestUnreachable)) throw error;
      before = undefined;
      await wait(retryMs, undefined, { signal });
    }
  }
}

async function sampleAfterPause(core: StatsNeeds, id: string, signal: AbortSignal): Promise<GuestStats> {
  const first = await sample(core, id);
  await wait(sampleMs, undefined, { signal });
  return first;
}

async function sample(core: StatsNeeds, id: string): Promise<GuestStats> {
  const live = core.machines.get(id);
  const agent = await live.agent();
  return await live.whileAlive(agent.stats());
}

/** How busy the processors were between two measurements, by the clock of the guest, and never more than they can be. Pure. */
export function statsBetween(before: GuestStats, now: GuestStats): SandboxStats {
  const usedUs = now.cpu.userUs + now.cpu.systemUs - before.cpu.userUs - before.cpu.systemUs;
  const passedMs = now.uptimeMs - before.uptimeMs;
  const percent = passedMs > 0 ? usedUs / passedMs / 10 : 0;
  const cpuPercent = Math.round(Math.min(Math.max(percent, 0), now.cpu.count * 100) * 10) / 10;
  return { ...now, cpuPercent };
}

function unreachable(cause: unknown): unknown {
  if (!(cause instanceof GuestUnreachable)) return cause;
  const reason = publicReason(cause, 'the connection to the machine failed');
  return new ApiError('execution_failed', `The sandbox could not be measured: ${reason}.`, { cause });
}
