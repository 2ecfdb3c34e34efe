import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, createSandbox, exec, type SandboxBody } from '../support/http.ts';
import { preparedHost } from '../support/prepared.ts';
import { armedModes, lastingModes, loudModes, type Mode, quietModes } from './modes.ts';
import { inDoubt, measureBeside, type Neighbour, neighbourBound } from './neighbour.ts';
import { WatchedService } from './service.ts';
import { armTemplate, ensureHostileTemplate } from './template.ts';

const mib = 1024 ** 2;
/** How much the service may have grown after a mode, and how much it may hold while the mode rages. */
const growthBoundBytes = 128 * mib;
const peakBoundBytes = 256 * mib;
const rounds = 9;

const commandTimeoutMs = 1_000;
/** A call's own deadline: an attach (60 s), then the command's timeout and its grace (30 s). */
const callDeadlineMs = 60_000 + commandTimeoutMs + 30_000;
/** For the way through HTTP and a busy host. */
const slackMs = 10_000;
/** Longer than any mode rages. */
const longMs = 300_000;

let folder: string;
let service: WatchedService;
let armed: Awaited<ReturnType<typeof armTemplate>>;
let good: SandboxBody;
let firstBytes: number;
const table: Record<string, string | number>[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-hostile-'));
  const hostile = await ensureHostileTemplate();
  armed = await armTemplate(hostile, join(folder, 'armed'));
  service = await WatchedService.start({ ...preparedHost().templates, medium: hostile, large: armed.template });
  good = await createSandbox(service);
  await medianMs();
  firstBytes = await service.memoryBytes();
});
afterAll(async () => {
  console.table(table);
  await service?.stop();
  await rm(folder, { recursive: true, force: true });
});

/** The median time of `true` in the good sandbox, in milliseconds. */
const medianMs = async (): Promise<number> => {
  const taken: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedMs = performance.now();
    expect((await exec(service, good.id, 'true')).exit_code).toBe(0);
    taken.push(performance.now() - startedMs);
  }
  return taken.toSorted((a, b) => a - b)[(rounds - 1) / 2] ?? Number.NaN;
};

interface Answer {
  readonly status: number;
  readonly tookMs: number;
}

/** One request that a hostile sandbox has part in: it must be answered in time, and as documented. */
const ask = async (documented: readonly string[], deadlineMs: number, request: () => Promise<Response>) => {
  const startedMs = performance.now();
  const late = wait(deadlineMs + slackMs, undefined, { ref: false }).then(() => expect.fail('no answer in time'));
  const response = await Promise.race([request(), late]);
  const body = (await response.json()) as { readonly status?: string; readonly error?: { readonly type: string } };
  expect(documented).toContain(`${response.status} ${body.error?.type ?? body.status}`);
  return { status: response.status, tookMs: performance.now() - startedMs };
};

const command = (sandbox: SandboxBody, text: string, timeoutMs = commandTimeoutMs): Promise<Answer> =>
  ask(['200 completed', '200 timeout', '502 execution_failed'], callDeadlineMs + timeoutMs, () =>
    call(service, 'POST', `/sandboxes/${sandbox.id}/exec`, { command: text, timeout_ms: timeoutMs }),
  );

/** A sandbox that is told to turn hostile, with a command in flight, and is given one more after another until it is deleted. */
class Encounter {
  readonly answers: Answer[] = [];
  readonly #sandbox: SandboxBody;
  readonly #mode: Mode;
  readonly #inFlight: Promise<Answer>;
  readonly #pressing: Promise<void>;
  #over = false;

  private constructor(sandbox: SandboxBody, mode: Mode) {
    this.#sandbox = sandbox;
    this.#mode = mode;
    this.#inFlight = command(sandbox, 'sleep 300', longMs);
    this.#pressing = this.#press();
    // Their failures are looked at when it is left.
    this.#inFlight.catch(() => {});
    this.#pressing.catch(() => {});
  }

  static async begin(mode: Mode): Promise<Encounter> {
    return new Encounter(await createSandbox(service, { size: 'medium' }), mode);
  }

  async #press(): Promise<void> {
    while (!this.#over) this.answers.push(await command(this.#sandbox, `mayfly-hostile ${this.#mode.name}`));
  }

  /** Waits until a command has failed by itself. */
  async failure(): Promise<void> {
    while (!this.answers.some(({ status }) => status === 502)) await Promise.race([this.#pressing, wait(50)]);
  }

  /** Deletes the sandbox in the middle of it all; what is still in flight is answered at once. */
  async leave(): Promise<Answer> {
    this.#over = true;
    const deleted = await ask(['200 deleted'], slackMs, () =>
      call(service, 'DELETE', `/sandboxes/${this.#sandbox.id}`),
    );
    await ask(['200 deleted'], slackMs, async () => {
      expect((await this.#inFlight).status, 'the command in flight').toBe(502);
      await this.#pressing;
      return call(service, 'GET', `/sandboxes/${this.#sandbox.id}`);
    });
    const failedFrom = this.answers.findIndex(({ status }) => status === 502);
    const after = this.answers.slice(failedFrom).map(({ status }) => status);
    // A command whose connection is lost waits for a new one, so the last may be cut off by the delete.
    if (this.#mode.works)
      expect(
        this.answers.map(({ status }) => status),
        'commands go on',
      ).toContain(200);
    else expect(after, 'no command is said to have worked').not.toContain(200);
    return deleted;
  }
}

const columns = ({ quietMs, besideMs, ratio, tries }: Neighbour) => ({
  quiet_ms: quietMs,
  beside_ms: besideMs,
  ratio,
  tries,
});

const note = async (mode: string, answers: readonly Answer[], more: Record<string, number>): Promise<void> => {
  const peak = (await service.peakBytes()) - firstBytes;
  const held = (await service.memoryBytes()) - firstBytes;
  table.push({
    mode,
    calls: answers.length,
    failed: answers.filter(({ status }) => status >= 500).length,
    slowest_ms: Math.round(Math.max(...answers.map(({ tookMs }) => tookMs))),
    ...more,
    peak_mib: Math.round(peak / mib),
    held_mib: Math.round(held / mib),
  });
  expect(service.isAlive).toBe(true);
  expect(peak).toBeLessThan(peakBoundBytes);
  expect(held).toBeLessThan(growthBoundBytes);
};

describe('an agent that turned on its host can neither crash, hang nor grow the service, nor slow a neighbour:', () => {
  it.each(loudModes)('$name', async (mode) => {
    const quietMs = await medianMs();
    const cpuBeforeMs = await service.cpuMs();
    const startedMs = performance.now();
    const encounter = await Encounter.begin(mode);
    await wait(200);
    const beside = await measureBeside(quietMs, medianMs);
    const deleted = await encounter.leave();
    const neighbour = await inDoubt(beside, medianMs);
    const cpu = ((await service.cpuMs()) - cpuBeforeMs) / (performance.now() - startedMs);
    await note(mode.name, encounter.answers, {
      delete_ms: Math.round(deleted.tookMs),
      ...columns(neighbour),
      service_cpu: Number(cpu.toFixed(2)),
    });
    expect(neighbour.ratio).toBeLessThan(neighbourBound);
  });

  it('those that keep quiet, or last, until the deadline of the call', { timeout: longMs }, async () => {
    await armed.setMode('silent');
    const quietMs = await medianMs();
    const creating = ask(['503 provisioning_failed'], 60_000, () =>
      call(service, 'POST', '/sandboxes', { size: 'large' }),
    );
    creating.catch(() => {});
    const quiet = await Promise.all(quietModes.map((mode) => Encounter.begin(mode)));
    await wait(3_000);
    const beside = await measureBeside(quietMs, medianMs);
    const lasting = await Promise.all(lastingModes.map((mode) => Encounter.begin(mode)));
    const met = [...quiet, ...lasting];
    await Promise.all(met.map((encounter) => encounter.failure()));
    await note('silent from the first attach: create', [await creating], {});
    for (const [index, mode] of [...quietModes, ...lastingModes].entries()) {
      const encounter = met[index];
      if (encounter === undefined) continue;
      const deleted = await encounter.leave();
      const figures = index < quiet.length ? columns(beside) : {};
      await note(`${mode.name}, to the deadline`, encounter.answers, {
        delete_ms: Math.round(deleted.tookMs),
        ...figures,
      });
    }
    expect((await inDoubt(beside, medianMs)).ratio).toBeLessThan(neighbourBound);
  });

  it.each(armedModes)('%s from the first attach: the create fails, and nothing is left', async (mode) => {
    await armed.setMode(mode);
    const quietMs = await medianMs();
    const creating = ask(['503 provisioning_failed'], 60_000, () =>
      call(service, 'POST', '/sandboxes', { size: 'large' }),
    );
    creating.catch(() => {});
    await wait(200);
    const beside = await measureBeside(quietMs, medianMs);
    const answer = await creating;
    const neighbour = await inDoubt(beside, medianMs);
    await note(`${mode} from the first attach: create`, [answer], columns(neighbour));
    expect(neighbour.ratio).toBeLessThan(neighbourBound);
  });
});
