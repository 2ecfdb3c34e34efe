import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as wait } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Machine } from '#server/core/ports/machine-driver.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { length } from '../support/length.ts';
import { createTestDriver, type TestDriver } from '../support/test-driver.ts';

let host: TestDriver;
let machine: Machine;
beforeAll(async () => {
  host = await createTestDriver();
  machine = await host.driver.launch({ id: 'reattach', size: 'small' });
});
afterAll(async () => {
  await machine.destroy();
  await host.remove();
});

const connector = createGuestConnector();
const attachMs = 30_000;
const kills = length(6, 50);
let executions = 0;

/** Attaches, as a restarted service would, and runs a command. */
async function runOnce(command: string): Promise<string> {
  const agent = await connector.attach(machine, attachMs);
  try {
    executions += 1;
    const request = { command, cwd: '/workspace', env: {}, timeoutMs: 60_000, captureBytes: 4096 };
    const result = await agent.execute({ id: `exec_${executions}`, ...request });
    return result.stdout.toString().trim();
  } finally {
    agent.close();
  }
}

/** Starts another process that transfers a file and kills it. Returns whether the transfer was in progress. */
async function killMidway(direction: 'read' | 'write', afterMs: number): Promise<boolean> {
  const script = fileURLToPath(new URL('./transfer-child.ts', import.meta.url));
  const stdio = ['ignore', 'pipe', 'inherit'] as const;
  const child: ChildProcess = spawn(process.execPath, [script, join(host.machinesDir, machine.id), direction], {
    stdio: [...stdio],
  });
  const written: string[] = [];
  if (!child.stdout) throw new Error('no stdout');
  const lines = createInterface({ input: child.stdout });
  const started = new Promise<void>((resolve) => {
    lines.on('line', (line) => {
      written.push(line);
      resolve();
    });
  });
  await Promise.race([started, once(child, 'exit')]);
  await wait(afterMs);
  child.kill('SIGKILL');
  if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
  return written.includes('started') && !written.includes('finished');
}

it.each(['read', 'write'] as const)(
  `the next attach works after kill -9 in the middle of an 8 MiB %s, ${kills} times`,
  async (direction) => {
    await runOnce('head -c 8388608 /dev/urandom > eight');
    let midway = 0;
    for (let round = 1; round <= kills; round += 1) {
      midway += (await killMidway(direction, (round * 7) % 150)) ? 1 : 0;
      expect(await runOnce(`echo round ${round}`)).toBe(`round ${round}`);
    }
    console.log(`${direction}: ${midway} of ${kills} kills interrupted the transfer`);
    expect(midway).toBeGreaterThan(0);
    // The agent removes the incomplete file of an interrupted write once its handler notices.
    const left = 'ls -A | grep -v -e eight -e written';
    expect(await runOnce(`for i in $(seq 100); do ${left} >/dev/null || break; sleep 0.1; done; ${left}`)).toBe('');
  },
  900_000,
);
