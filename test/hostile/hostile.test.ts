import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { resultGraceMs } from '#server/core/executions/collect.ts';
import { call, createSandbox, exec, type SandboxBody } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { preparedHost } from '../support/prepared-host.ts';
import { maxSlowdownRatio, measureSlowdown, recheckSlowdown, type Slowdown } from '../support/slowdown.ts';
import { MeasuredService } from './measured-service.ts';
import { armedModes, lastingModes, loudModes, type Mode, quietModes } from './modes.ts';
import { armTemplate, ensureHostileTemplate } from './template.ts';

const mib = 1024 ** 2;
/** How much the service's memory may have grown after an attack, and during it. */
const maxGrowthBytes = 128 * mib;
const maxPeakBytes = 256 * mib;
const rounds = 5;

const commandTimeoutMs = 1_000;
/** The service's own deadlines, or shorter ones. */
const deadlines = length({ attachMs: 30_000, executeGraceMs: 6_000 }, { attachMs: 60_000, executeGraceMs: 30_000 });
/** The deadline of a call: an attach, then the command's timeout plus the longest grace period, which a result has whose connection was lost. */
const callDeadlineMs = deadlines.attachMs + commandTimeoutMs + resultGraceMs;
/** Allows for HTTP overhead and a busy host. */
const slackMs = 10_000;
/** Longer than any attack lasts. */
const longMs = 300_000;

let folder: string;
let service: MeasuredService;
let armed: Awaited<ReturnType<typeof armTemplate>>;
let neighbour: SandboxBody;
let initialBytes: number;
const table: Record<string, string | number>[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-hostile-'));
  const hostile = await ensureHostileTemplate();
  armed = await armTemplate(hostile, join(folder, 'armed'));
  service = await MeasuredService.start(
    { ...preparedHost().templates, medium: hostile, large: armed.template },
    { deadlines },
  );
  neighbour = await createSandbox(service);
  await medianMs();
  initialBytes = await service.memoryBytes();
});
afterAll(async () => {
  console.table(table);
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The median time of `true` in the neighbour's sandbox, in milliseconds. */
async function medianMs(): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedMs = performance.now();
    expect((await exec(service, neighbour.id, 'true')).exit_code).toBe(0);
    times.push(performance.now() - startedMs);
  }
  return times.toSorted((a, b) => a - b)[(rounds - 1) / 2] ?? Number.NaN;
}

interface TimedResponse {
  readonly status: number;
  readonly tookMs: number;
}

/** Sends a request that involves a hostile sandbox. The response must arrive in time and be one of the documented ones. */
async function expectResponse(documented: readonly string[], deadlineMs: number, request: () => Promise<Response>) {
  const startedMs = performance.now();
  const late = wait(deadlineMs + slackMs, undefined, { ref: false }).then(() => expect.fail('no response in time'));
  const response = await Promise.race([request(), late]);
  const body = (await response.json()) as { readonly status?: string; readonly error?: { readonly type: string } };
  expect(documented).toContain(`${response.status} ${body.error?.type ?? body.status}`);
  return { status: response.status, tookMs: performance.now() - startedMs };
}

function runCommand(sandbox: SandboxBody, command: string, timeoutMs = commandTimeoutMs): Promise<TimedResponse> {
  return expectResponse(['200 completed', '200 timeout', '502 execution_failed'], callDeadlineMs + timeoutMs, () =>
    call(service, 'POST', `/sandboxes/${sandbox.id}/exec`, { command, timeout_ms: timeoutMs }),
  );
}

/** A sandbox that turns hostile while a command is in flight, and receives one command after another until it is deleted. */
class Attack {
  readonly responses: TimedResponse[] = [];
  readonly #sandbox: SandboxBody;
  readonly mode: Mode;
  readonly #inFlight: Promise<TimedResponse>;
  readonly #commands: Promise<void>;
  #isOver = false;

  private constructor(sandbox: SandboxBody, mode: Mode) {
    this.#sandbox = sandbox;
    this.mode = mode;
    this.#inFlight = runCommand(sandbox, 'sleep 300', longMs);
    this.#commands = this.#sendCommands();
    // Their failures are handled in end().
    this.#inFlight.catch(() => {});
    this.#commands.catch(() => {});
  }

  static async start(mode: Mode): Promise<Attack> {
    return new Attack(await createSandbox(service, { size: 'medium' }), mode);
  }

  async #sendCommands(): Promise<void> {
    while (!this.#isOver) this.responses.push(await runCommand(this.#sandbox, `mayfly-hostile ${this.mode.name}`));
  }

  /** Waits until a command has failed. */
  async untilFailure(): Promise<void> {
    while (!this.responses.some(({ status }) => status === 502)) await Promise.race([this.#commands, wait(50)]);
  }

  /** Deletes the sandbox during the attack. Requests in flight must be answered at once. */
  async end(): Promise<TimedResponse> {
    this.#isOver = true;
    const deleted = await expectResponse(['200 deleted'], slackMs, () =>
      call(service, 'DELETE', `/sandboxes/${this.#sandbox.id}`),
    );
    await expectResponse(['200 deleted'], slackMs, async () => {
      expect((await this.#inFlight).status, 'the command in flight').toBe(502);
      await this.#commands;
      return call(service, 'GET', `/sandboxes/${this.#sandbox.id}`);
    });
    const failedFrom = this.responses.findIndex(({ status }) => status === 502);
    const after = this.responses.slice(failedFrom).map(({ status }) => status);
    // A command whose connection is lost waits for a new one, so the delete may interrupt the last command.
    if (this.mode.commandsWork)
      expect(
        this.responses.map(({ status }) => status),
        'commands still work',
      ).toContain(200);
    else expect(after, 'no command succeeds after the first failure').not.toContain(200);
    return deleted;
  }
}

function slowdownColumns({ baselineMs, loadedMs, ratio, tries }: Slowdown) {
  return {
    baseline_ms: baselineMs,
    loaded_ms: loadedMs,
    ratio,
    tries,
  };
}

/** Adds a row to the table and checks that the service is alive and has not grown too much. */
async function expectHealthy(
  mode: string,
  responses: readonly TimedResponse[],
  more: Record<string, number>,
): Promise<void> {
  const peak = (await service.peakBytes()) - initialBytes;
  const held = (await service.memoryBytes()) - initialBytes;
  table.push({
    mode,
    calls: responses.length,
    failed: responses.filter(({ status }) => status >= 500).length,
    slowest_ms: Math.round(Math.max(...responses.map(({ tookMs }) => tookMs))),
    ...more,
    peak_mib: Math.round(peak / mib),
    held_mib: Math.round(held / mib),
  });
  expect(service.isAlive).toBe(true);
  expect(peak).toBeLessThan(maxPeakBytes);
  expect(held).toBeLessThan(maxGrowthBytes);
}

/** Attacks that stay silent until the deadline of the call, and how much they slow a neighbour down. */
interface SilentAttacks {
  readonly creating: Promise<TimedResponse>;
  readonly quiet: readonly Attack[];
  readonly measured: Slowdown;
}

async function startSilentAttacks(): Promise<SilentAttacks> {
  await armed.setMode('silent');
  const baselineMs = await medianMs();
  const creating = expectResponse(['503 provisioning_failed'], 60_000, () =>
    call(service, 'POST', '/sandboxes', { size: 'large' }),
  );
  creating.catch(() => {});
  const quiet = await Promise.all(quietModes.map((mode) => Attack.start(mode)));
  await wait(3_000);
  return { creating, quiet, measured: await measureSlowdown(baselineMs, medianMs) };
}

describe('a malicious agent cannot crash, hang or bloat the service, nor slow down a neighbour:', () => {
  let silent: Promise<SilentAttacks> | undefined;
  const silentAttacks = () => {
    silent ??= startSilentAttacks();
    return silent;
  };
  beforeAll(async () => {
    // They send nothing for half a minute, so the others are tested meanwhile. At full length those take longer than the silent ones last.
    if (length(true, false)) await silentAttacks();
  });

  it.each(
    length(
      loudModes.filter(({ isTypical }) => isTypical === true),
      loudModes,
    ),
  )('$name', async (mode) => {
    const baselineMs = await medianMs();
    const cpuBeforeMs = await service.cpuMs();
    const startedMs = performance.now();
    const attack = await Attack.start(mode);
    await wait(200);
    const measured = await measureSlowdown(baselineMs, medianMs);
    const deleted = await attack.end();
    const slowdown = await recheckSlowdown(measured, medianMs);
    const cpu = ((await service.cpuMs()) - cpuBeforeMs) / (performance.now() - startedMs);
    await expectHealthy(mode.name, attack.responses, {
      delete_ms: Math.round(deleted.tookMs),
      ...slowdownColumns(slowdown),
      service_cpu: Number(cpu.toFixed(2)),
    });
    expect(slowdown.ratio).toBeLessThan(maxSlowdownRatio);
  });

  it('attacks that stay silent, or continue, until the deadline of the call', { timeout: longMs }, async () => {
    const { creating, quiet, measured } = await silentAttacks();
    const lasting = await Promise.all(length([], lastingModes).map((mode) => Attack.start(mode)));
    const attacks = [...quiet, ...lasting];
    await Promise.all(attacks.map((attack) => attack.untilFailure()));
    await expectHealthy('silent from the first attach: create', [await creating], {});
    for (const [index, attack] of attacks.entries()) {
      const { mode } = attack;
      const deleted = await attack.end();
      const columns = index < quiet.length ? slowdownColumns(measured) : {};
      await expectHealthy(`${mode.name}, until the deadline`, attack.responses, {
        delete_ms: Math.round(deleted.tookMs),
        ...columns,
      });
    }
    expect((await recheckSlowdown(measured, medianMs)).ratio).toBeLessThan(maxSlowdownRatio);
  });

  it.each(length(armedModes.slice(0, 1), armedModes))(
    '%s from the first attach: the create fails and leaves nothing',
    async (mode) => {
      await armed.setMode(mode);
      const baselineMs = await medianMs();
      const creating = expectResponse(['503 provisioning_failed'], 60_000, () =>
        call(service, 'POST', '/sandboxes', { size: 'large' }),
      );
      creating.catch(() => {});
      await wait(200);
      const measured = await measureSlowdown(baselineMs, medianMs);
      const response = await creating;
      const slowdown = await recheckSlowdown(measured, medianMs);
      await expectHealthy(`${mode} from the first attach: create`, [response], slowdownColumns(slowdown));
      expect(slowdown.ratio).toBeLessThan(maxSlowdownRatio);
    },
  );
});
