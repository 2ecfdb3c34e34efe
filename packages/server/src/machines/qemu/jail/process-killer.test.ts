import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import { hasGo, jailProgram } from '../../../../test/network/go-tools.ts';
import { AdoptedProcess } from '../machine-process.ts';
import { type ProcessIdentity, readProcessIdentity } from './proc.ts';
import { ProcessKiller } from './process-killer.ts';

describe.runIf(hasGo())('killing a process of an earlier host process', () => {
  let killer: ProcessKiller;
  beforeAll(() => {
    killer = new ProcessKiller(jailProgram());
  });
  let child: ChildProcess | undefined;
  afterEach(() => child?.kill('SIGKILL'));

  async function sleeper(): Promise<{ started: ChildProcess; identity: ProcessIdentity }> {
    const started = spawn('sleep', ['1000'], { stdio: 'ignore' });
    child = started;
    await once(started, 'spawn');
    const identity = readProcessIdentity(started.pid ?? 0);
    if (!identity) throw new Error('The process has no identity.');
    return { started, identity };
  }

  it('ends it', async () => {
    const { started, identity } = await sleeper();
    const process = new AdoptedProcess(identity, killer);
    const [[, signal]] = await Promise.all([once(started, 'exit'), process.kill()]);
    expect(signal).toBe('SIGKILL');
    expect(process.isGone).toBe(true);
  });

  it('never hits another process that was given the same id', async () => {
    const { identity } = await sleeper();
    await killer.killProcess({ ...identity, startTicks: identity.startTicks - 1 });
    expect(readProcessIdentity(identity.pid)).toEqual(identity);
  });
});
