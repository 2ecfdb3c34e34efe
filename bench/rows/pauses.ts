import { setTimeout as wait } from 'node:timers/promises';
import type { GuestAgent } from '#server/core/ports/guest-agent.ts';
import type { Machine } from '#server/core/ports/machine-driver.ts';
import type { BenchHost } from '../support/bench-host.ts';
import { median } from '../support/measure.ts';
import type { Row } from '../support/table.ts';

const rounds = 3;
const attachMs = 60_000;
const snapshotId = 'bench-snapshot';

/** How long after an answer the agent is asked again. */
const askAgainMs = 3;

/** How long the agent is asked before a save, to learn how far apart its answers usually are. */
const usualMs = 1_000;

/** Medians over several saves of one machine. */
interface Pauses {
  /** How long the virtual CPUs stood still, as the driver reports it, while nobody asked the agent. */
  readonly quietMs: number;
  /** The same while the agent was asked all the time. */
  readonly askedMs: number;
  /** How much longer than usual a caller of the agent waited at worst, during the saves of `askedMs`. */
  readonly gapMs: number;
}

/**
 * Saving a machine, idle and with 2 GiB of dirtied memory: the pause that the driver reports, and the longest gap that a caller of the agent notices,
 * both compared with what a pause may be.
 */
export async function pauseRows(bench: BenchHost): Promise<Row[]> {
  const machine = await bench.driver.launch({ id: 'bench-pause', size: 'small' });
  try {
    const agent = await bench.connector.attach(machine, attachMs);
    const idle = await measurePauses(bench, machine, agent);
    await dirtyMemory(agent);
    const dirtied = await measurePauses(bench, machine, agent);
    agent.close();
    return [...rowsOf('idle', 300, idle), ...rowsOf('2 GiB dirtied', 1_000, dirtied)];
  } finally {
    await machine.destroy();
  }
}

/** The rows of a machine in one state. What the pause of a snapshot may be is also the aim for the gap. */
function rowsOf(state: string, limitMs: number, { quietMs, askedMs, gapMs }: Pauses): Row[] {
  const limit = { baseline: 'what it may be', baselineMs: limitMs };
  return [
    { name: `pause of a snapshot, ${state}`, measuredMs: quietMs, target: 1, ...limit },
    { name: `pause while a caller asks, ${state}`, measuredMs: askedMs, ...limit },
    { name: `longest gap for that caller, ${state}`, measuredMs: gapMs, target: 1, ...limit },
  ];
}

/** Fills 2 GiB of the guest's memory, which stay allocated. */
async function dirtyMemory(agent: GuestAgent): Promise<void> {
  const fill =
    "python3 -c \"import os,time; b = bytearray(os.urandom(1 << 20)) * 2048; open('filled','w').close(); time.sleep(3600)\" &";
  const command = `cd /tmp; (${fill}) >/dev/null 2>&1; until [ -e filled ]; do sleep 0.2; done`;
  await agent.execute({ id: 'exec_fill', command, cwd: '/', env: {}, timeoutMs: 300_000, captureBytes: 1_024 });
}

/** Saves a machine in turns without and with a caller: the calls keep an idle machine busy, which may prolong its pause. */
async function measurePauses(bench: BenchHost, machine: Machine, agent: GuestAgent): Promise<Pauses> {
  const quiet: number[] = [];
  const asked: number[] = [];
  const gaps: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    quiet.push((await machine.save(snapshotId)).pausedMs);
    await bench.driver.deleteSnapshot(snapshotId);
    const usual = await askDuring(agent, () => wait(usualMs));
    const saved = await askDuring(agent, () => machine.save(snapshotId));
    await bench.driver.deleteSnapshot(snapshotId);
    asked.push(saved.result.pausedMs);
    gaps.push(Math.max(...saved.gapsMs) - median(usual.gapsMs));
  }
  return { quietMs: median(quiet), askedMs: median(asked), gapMs: median(gaps) };
}

/** Asks the agent again and again until the work has ended. Returns the times between its answers. */
async function askDuring<T>(
  agent: GuestAgent,
  work: () => Promise<T>,
): Promise<{ readonly gapsMs: readonly number[]; readonly result: T }> {
  const gapsMs: number[] = [];
  let hasEnded = false;
  const ask = async (): Promise<void> => {
    let answeredMs = performance.now();
    while (!hasEnded) {
      await wait(askAgainMs);
      await agent.hello();
      const nowMs = performance.now();
      gapsMs.push(nowMs - answeredMs);
      answeredMs = nowMs;
    }
  };
  await agent.hello();
  const working = work().finally(() => {
    hasEnded = true;
  });
  const [result] = await Promise.all([working, ask()]);
  return { gapsMs, result };
}
