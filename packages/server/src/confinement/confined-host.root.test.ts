import type { ChildProcess } from 'node:child_process';
import { afterEach, describe, expect, it } from 'vitest';
import { exitCodeOf, linesOf, threadStatuses } from '../../test/confinement/confined.ts';
import { hasGo, jailProgram } from '../../test/network/go-tools.ts';
import { hostConfinement } from './spec.ts';
import { startConfined } from './start-confined.ts';

/** Prints the capabilities of a program that it starts, then waits. */
const script = `
  const { execFileSync } = require('node:child_process');
  console.log(execFileSync('grep', ['CapEff', '/proc/self/status'], { encoding: 'utf8' }).trim());
  setInterval(() => {}, 1000);
`;

describe.runIf(process.getuid?.() === 0 && hasGo())('the confined host process', () => {
  let child: ChildProcess | undefined;
  afterEach(async () => {
    child?.kill('SIGKILL');
    if (child) await exitCodeOf(child);
  });

  it('is root with the listed capabilities, and so is what it starts', async () => {
    const spec = hostConfinement({
      nodePath: process.execPath,
      argv: ['-e', script],
      checkout: process.cwd(),
      cgroupProcs: [],
      env: { PATH: process.env.PATH },
      capabilities: ['CHOWN', 'NET_ADMIN'],
    });
    child = startConfined(jailProgram(), spec, { stdout: 'pipe' });
    const { value } = (await linesOf(child).next()) as { value: string };
    // CHOWN is bit 0, NET_ADMIN bit 12.
    const kept = '0000000000001001';
    expect(value).toBe(`CapEff:\t${kept}`);
    const expected = { CapBnd: kept, CapPrm: kept, CapEff: kept, NoNewPrivs: '1', Uid: '0\t0\t0\t0' };
    for (const status of threadStatuses(child.pid ?? 0)) expect(status).toMatchObject(expected);
  });
});
