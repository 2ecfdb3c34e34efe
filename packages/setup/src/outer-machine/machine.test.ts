import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type OuterMachinePlan, outerMachineArgv, readConsoleTail, runOuterMachine } from './machine.ts';

let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'mayfly-outer-'));
});
afterEach(() => rm(folder, { recursive: true, force: true }));

function plan(arch: 'arm64' | 'x64' = 'arm64'): OuterMachinePlan {
  return {
    arch,
    cpus: 2,
    memoryMib: 4096,
    kernelPath: '/images/vmlinuz',
    rootPath: '/run/root.qcow2',
    runDiskPath: '/run/run.raw',
    consolePath: join(folder, 'console.log'),
    resultPath: join(folder, 'result'),
  };
}

describe.each(['arm64', 'x64'] as const)('the outer machine on %s', (arch) => {
  it('is emulated, has virtualization extensions and no network', () => {
    const argv = outerMachineArgv(plan(arch)).join(' ');
    expect(argv).toContain('-accel tcg');
    expect(argv).toContain(
      arch === 'arm64' ? '-machine virt,virtualization=on' : '-cpu max,la57=off,erms=off,fsrm=off ',
    );
    expect(argv).toContain('-nodefaults');
    expect(argv).not.toContain('netdev');
    expect(argv.includes('nohz=off highres=off')).toBe(arch === 'x64');
  });
});

/** Writes a shell script that takes the place of QEMU. */
async function writeStandIn(script: string): Promise<string> {
  const path = join(folder, 'qemu');
  await writeFile(path, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
  return path;
}

/** Runs a shell script in the place of QEMU. */
async function run(script: string, { deadlineMs = 60_000, signal = new AbortController().signal } = {}) {
  const binary = await writeStandIn(script);
  const lines: string[] = [];
  const onLine = (line: string) => lines.push(line);
  const result = await runOuterMachine(plan(), { binary, preloadPath: undefined, deadlineMs, signal, onLine });
  return { result, lines };
}

/** A script that writes its process id and never ends. */
const endless = () => `echo $$ > ${folder}/pid; exec sleep 600`;

async function isAlive(): Promise<boolean> {
  const pid = (await readFile(join(folder, 'pid'), 'utf8').catch(() => '')).trim();
  return pid !== '' && existsSync(`/proc/${pid}`);
}

describe('a run', () => {
  it('passes on the output and the exit code of the command', async () => {
    expect(await run(`echo first; echo second; echo 3 > ${folder}/result`)).toEqual({
      result: { kind: 'exited', code: 3 },
      lines: ['first', 'second'],
    });
  });

  it('of a machine that ends without a result says why', async () => {
    expect((await run('echo no such disk >&2; exit 1')).result).toEqual({
      kind: 'machine failed',
      reason: 'no such disk',
    });
  });

  it('ends at its deadline, and the machine with it', async () => {
    expect((await run(endless(), { deadlineMs: 1_000 })).result).toEqual({ kind: 'out of time' });
    expect(await isAlive()).toBe(false);
  });

  it('ends when it is interrupted, and the machine with it', async () => {
    const controller = new AbortController();
    const failure = run(endless(), { signal: controller.signal }).catch((error: unknown) => error);
    await expect.poll(isAlive).toBe(true);
    controller.abort();
    expect(await failure).toMatchObject({ name: 'AbortError' });
    expect(await isAlive()).toBe(false);
  });

  it('ends with the process that started it, also when that is killed', async () => {
    const options = JSON.stringify({ binary: await writeStandIn(endless()), deadlineMs: 600_000 });
    const script = `
      import { runOuterMachine } from ${JSON.stringify(new URL('./machine.ts', import.meta.url).href)};
      const more = { signal: new AbortController().signal, onLine: () => {} };
      await runOuterMachine(${JSON.stringify(plan())}, { ...${options}, ...more });`;
    const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: 'ignore' });
    await expect.poll(isAlive).toBe(true);
    child.kill('SIGKILL');
    await expect.poll(isAlive).toBe(false);
  });
});

it('shows the last messages of the kernel', async () => {
  const path = join(folder, 'console.log');
  await writeFile(path, Array.from({ length: 50 }, (_, line) => `line ${line}\n`).join(''));
  expect(await readConsoleTail(path, 2)).toBe('line 48\nline 49');
  expect(await readConsoleTail(join(folder, 'none'))).toBe('');
});
