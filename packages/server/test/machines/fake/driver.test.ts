import { afterEach, describe, expect, it } from 'vitest';
import { createGuestConnector } from '../../../src/guest/connector.ts';
import { describeMachineDriver } from '../driver-suite.ts';
import { FakeMachineDriver } from './driver.ts';
import type { FakeMachine } from './machine.ts';

const shared = new FakeMachineDriver();

describeMachineDriver<FakeMachine>('fake', async () => shared, createGuestConnector, {
  kill: (machine) => machine.die('killed by the suite'),
  leftovers: () => shared.leftovers(),
  launchMs: 2_000,
  stepMs: 2_000,
  silenceMs: 50,
});

describe('the fake driver, for tests of others', () => {
  const driver = new FakeMachineDriver();
  const connector = createGuestConnector();
  afterEach(async () => {
    driver.options.launchError = undefined;
    driver.options.agentSilent = false;
    for (const machine of driver.machines) await machine.destroy();
  });

  const machineWithAgent = async () => {
    const machine = await driver.launch({ id: 'one', size: 'small' });
    return { machine, agent: await connector.attach(machine, 2_000) };
  };
  const request = { id: 'exec_1', cwd: '/workspace', env: {}, timeoutMs: 1_000, captureBytes: 100 };

  it('injects failures', async () => {
    driver.options.launchError = new Error('no room');
    await expect(driver.launch({ id: 'one', size: 'small' })).rejects.toThrow('no room');
    expect(driver.leftovers()).toEqual([]);
    driver.options.launchError = undefined;
    driver.options.agentSilent = true;
    const machine = await driver.launch({ id: 'one', size: 'small' });
    await expect(connector.attach(machine, 50)).rejects.toMatchObject({ name: 'GuestUnreachable' });
  });

  it('keeps the identity and sets its clock', async () => {
    const { machine, agent } = await machineWithAgent();
    expect(machine.agent.clockOffsetMs).toBeLessThan(-1_000);
    await agent.setIdentity({ hostname: 'box', machineId: 'c'.repeat(32), expiresAtMs: 5 });
    expect(machine.agent.identity).toEqual({ hostname: 'box', machine_id: 'c'.repeat(32), expires_at_ms: 5 });
    expect(Math.abs(machine.agent.clockOffsetMs)).toBeLessThan(100);
    expect((await agent.figures()).cpu.count).toBe(2);
  });

  it('is told a new expiry', async () => {
    const { machine, agent } = await machineWithAgent();
    await agent.setIdentity({ hostname: 'box', machineId: 'c'.repeat(32), expiresAtMs: 5 });
    await agent.setExpiry(9);
    expect(machine.agent.identity?.expires_at_ms).toBe(9);
  });

  it('lists and deletes files', async () => {
    const { agent } = await machineWithAgent();
    await agent.writeFile('b', Buffer.from('12'), 10);
    await agent.writeFile('a/deep/file', Buffer.alloc(0), 10);
    const dir = { name: Buffer.from('a'), type: 'dir', sizeBytes: null };
    const file = { name: Buffer.from('b'), type: 'file', sizeBytes: 2 };
    expect(await agent.listFiles('/workspace', 10)).toEqual({ entries: [dir, file], truncated: false });
    expect(await agent.listFiles('/workspace', 1)).toEqual({ entries: [dir], truncated: true });
    await expect(agent.listFiles('b', 10)).rejects.toMatchObject({ code: 'not_directory' });
    await expect(agent.deleteFile('a', false)).rejects.toMatchObject({ code: 'is_directory' });
    await expect(agent.deleteFile('.', true)).rejects.toMatchObject({ code: 'bad_request' });
    await agent.deleteFile('a', true);
    await agent.deleteFile('b', false);
    await expect(agent.deleteFile('b', false)).rejects.toMatchObject({ code: 'not_found' });
    expect((await agent.listFiles('.', 10)).entries).toEqual([]);
  });

  it.each([
    ['false', 1, '', ''],
    ['echo $NAME "a  b"', 0, 'mayfly a  b\n', ''],
    ['echo oops >&2', 0, '', 'oops\n'],
    ['echo 1 > f; cat f && pwd', 0, '1\n/workspace\n', ''],
    ['false && echo no', 1, '', ''],
    ['nonsense', 127, '', 'bash: nonsense: command not found\n'],
  ])('runs %s', async (command, exitCode, stdout, stderr) => {
    const { agent } = await machineWithAgent();
    const result = await agent.execute({ ...request, command, env: { NAME: 'mayfly' } });
    expect([result.exitCode, result.stdout.toString(), result.stderr.toString()]).toEqual([exitCode, stdout, stderr]);
  });

  it('ends a command at its timeout with the output so far', async () => {
    const { agent } = await machineWithAgent();
    const result = await agent.execute({ ...request, command: 'echo first; sleep 60', timeoutMs: 20 });
    expect(result).toMatchObject({ exitCode: 124, timedOut: true });
    expect(result.stdout.toString()).toBe('first\n');
  });

  it('keeps an execution over a lost connection until it is forgotten', async () => {
    const { machine, agent } = await machineWithAgent();
    const lost = agent.execute({ ...request, command: 'sleep 0.05; echo done' });
    await agent.hello();
    agent.close();
    await expect(lost).rejects.toMatchObject({ name: 'GuestUnreachable' });
    const again = await connector.attach(machine, 2_000);
    expect((await again.resumeExecution('exec_1', 100)).stdout.toString()).toBe('done\n');
    await expect(again.execute({ ...request, command: 'true' })).rejects.toMatchObject({ code: 'exists' });
    await again.forgetExecution('exec_1');
    expect(machine.agent.executionIds).toEqual([]);
  });

  it('holds the result of a command back while paused', async () => {
    const { machine, agent } = await machineWithAgent();
    let ended = false;
    const result = agent.execute({ ...request, command: 'sleep 0.02' }).finally(() => {
      ended = true;
    });
    await agent.hello();
    await machine.pause();
    await machine.agent.executionsEnded();
    const hello = agent.hello();
    expect(ended).toBe(false);
    await machine.resume();
    await hello;
    expect((await result).exitCode).toBe(0);
  });

  it('refuses what the real agent refuses', async () => {
    const { agent } = await machineWithAgent();
    const nowhere = agent.execute({ ...request, command: 'true', cwd: '/nowhere' });
    await expect(nowhere).rejects.toMatchObject({ code: 'bad_cwd' });
    await agent.writeFile('f', Buffer.alloc(20), 100);
    await expect(agent.readFile('f', 10)).rejects.toMatchObject({ code: 'too_large' });
    await expect(agent.readFile('/workspace', 10)).rejects.toMatchObject({ code: 'is_directory' });
    await expect(agent.resumeExecution('none', 10)).rejects.toMatchObject({ code: 'not_found' });
  });

  it('fails commands in flight when the machine dies', async () => {
    const { machine, agent } = await machineWithAgent();
    const lost = agent.execute({ ...request, command: 'sleep 60', timeoutMs: 60_000 });
    await agent.hello();
    machine.die('out of luck');
    await expect(lost).rejects.toMatchObject({ name: 'GuestUnreachable' });
    expect(await machine.exited).toEqual({ requested: false, reason: 'out of luck' });
  });
});
