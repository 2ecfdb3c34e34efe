import { afterEach, beforeAll, describe, expect, it } from 'vitest';
import type { GuestAgent, GuestConnector } from '../../src/core/ports/guest-agent.ts';
import type { LaunchRequest, Machine } from '../../src/core/ports/machine-driver.ts';
import { withDeadline } from '../../src/core/scheduling/deadline.ts';

export interface DriverSuiteOptions<M extends Machine> {
  /** Ends a machine without destroy(), as a crash would. */
  readonly kill: (machine: M) => Promise<void> | void;
  /** Everything on the host that machines of this suite have left. */
  readonly leftovers: () => Promise<readonly string[]> | readonly string[];
  /** The prefix of every machine id; [a-z0-9_-]. */
  readonly idPrefix?: string;
  /** Deadline for a launch and its attach. */
  readonly launchMs?: number;
  /** Deadline for everything else; an emulated command may take a second, and ten inside an emulated host. */
  readonly stepMs?: number;
  /** How long a paused machine must not answer. */
  readonly silenceMs?: number;
  /** Deadline for noticing that a machine has exited. */
  readonly deathMs?: number;
}

/** A driver with its own type of machine. */
interface DriverOf<M extends Machine> {
  launch(request: LaunchRequest): Promise<M>;
}

/** The tests that every implementation of MachineDriver must pass. Call it in a test file of the implementation. */
export function describeMachineDriver<M extends Machine>(
  name: string,
  makeDriver: () => Promise<DriverOf<M>>,
  makeConnector: () => GuestConnector,
  options: DriverSuiteOptions<M>,
): void {
  const { kill, leftovers, idPrefix = 'suite', launchMs = 300_000, stepMs = 150_000 } = options;
  const { silenceMs = 300, deathMs = 60_000 } = options;

  describe(`the ${name} driver`, () => {
    const connector = makeConnector();
    const opened: { machines: M[]; agents: GuestAgent[] } = { machines: [], agents: [] };
    let driver: DriverOf<M>;
    let counter = 0;

    beforeAll(async () => {
      driver = await makeDriver();
    }, launchMs);

    const nextId = () => {
      counter += 1;
      return `${idPrefix}-${process.pid}-${counter}`;
    };
    const launch = async (id = nextId()) => {
      const machine = await within(launchMs, driver.launch({ id, size: 'small' }));
      opened.machines.push(machine);
      return machine;
    };
    const attach = async (machine: M) => {
      const agent = await connector.attach(machine, launchMs);
      opened.agents.push(agent);
      return agent;
    };
    const run = async (agent: GuestAgent, command: string) => {
      counter += 1;
      const id = `exec_suite${counter}`;
      const request = { id, command, cwd: '/workspace', env: {}, timeoutMs: stepMs, captureBytes: 10_000 };
      const result = await agent.execute(request);
      await agent.forgetExecution(id);
      return { exitCode: result.exitCode, stdout: result.stdout.toString(), stderr: result.stderr.toString() };
    };

    afterEach(async () => {
      for (const agent of opened.agents.splice(0)) agent.close();
      await within(stepMs, Promise.all(opened.machines.splice(0).map((machine) => machine.destroy())));
      expect(await leftovers()).toEqual([]);
    }, 2 * stepMs);

    it('launches a machine whose agent answers, accepts an identity and runs commands', async () => {
      const id = nextId();
      const machine = await launch(id);
      expect([machine.id, machine.size]).toEqual([id, 'small']);
      const agent = await attach(machine);
      expect((await agent.hello()).protocol).toBe(1);
      await agent.setIdentity({ hostname: 'suite', machineId: 'ab'.repeat(16), expiresAtMs: 0 });
      expect(await run(agent, 'true')).toEqual({ exitCode: 0, stdout: '', stderr: '' });
      expect(await run(agent, 'exit 3')).toEqual({ exitCode: 3, stdout: '', stderr: '' });
      expect(await run(agent, 'echo hi')).toEqual({ exitCode: 0, stdout: 'hi\n', stderr: '' });
    });

    it('isolates two machines from each other', async () => {
      const [first, second] = await Promise.all([launch().then(attach), launch().then(attach)]);
      await first.writeFile('secret.txt', Buffer.from('of the first'), 1_000);
      expect((await first.readFile('secret.txt', 1_000)).toString()).toBe('of the first');
      await expect(second.readFile('secret.txt', 1_000)).rejects.toMatchObject({ code: 'not_found' });
    });

    it('does not answer while paused, and continues when resumed', async () => {
      const machine = await launch();
      const agent = await attach(machine);
      await machine.pause();
      await machine.pause();
      let answered = false;
      const hello = agent.hello().then(() => {
        answered = true;
      });
      await expect(within(silenceMs, hello)).rejects.toThrow('took longer than');
      expect(answered).toBe(false);
      await machine.resume();
      await machine.resume();
      await within(stepMs, hello);
      await agent.setClock();
      expect((await run(agent, 'echo back')).stdout).toBe('back\n');
    });

    it('accepts a new channel after the old one was closed, and keeps its state', async () => {
      const machine = await launch();
      const before = await attach(machine);
      await before.writeFile('kept.txt', Buffer.from('kept'), 1_000);
      before.close();
      await within(stepMs, before.closed);
      const after = await attach(machine);
      expect((await after.readFile('kept.txt', 1_000)).toString()).toBe('kept');
    });

    it('destroys a machine once, however often destroy is called', async () => {
      const machine = await launch();
      const agent = await attach(machine);
      await within(stepMs, Promise.all([machine.destroy(), machine.destroy()]));
      await within(stepMs, machine.destroy());
      expect(await within(stepMs, machine.exited)).toMatchObject({ requested: true });
      await within(stepMs, agent.closed);
      await expect(within(stepMs, machine.openAgentChannel())).rejects.not.toThrow('took longer than');
      expect(await leftovers()).toEqual([]);
    });

    it('destroys a paused machine', async () => {
      const machine = await launch();
      await machine.pause();
      await within(stepMs, machine.destroy());
      expect(await within(stepMs, machine.exited)).toMatchObject({ requested: true });
    });

    it('rejects an id that is in use, without affecting its machine', async () => {
      const machine = await launch();
      await expect(within(launchMs, driver.launch({ id: machine.id, size: 'small' }))).rejects.not.toThrow(
        'took longer than',
      );
      expect((await (await attach(machine)).hello()).protocol).toBe(1);
    });

    it('leaves nothing behind when a launch is aborted before or while it runs', async () => {
      const early = driver.launch({ id: nextId(), size: 'small', signal: AbortSignal.abort() });
      await expect(within(launchMs, early)).rejects.not.toThrow('took longer than');
      const abort = new AbortController();
      const late = driver.launch({ id: nextId(), size: 'small', signal: abort.signal });
      abort.abort();
      await expect(within(launchMs, late)).rejects.not.toThrow('took longer than');
      expect(await leftovers()).toEqual([]);
    });

    it('reports a machine that exited on its own, with a reason', async () => {
      const machine = await launch();
      const agent = await attach(machine);
      await kill(machine);
      const exit = await within(deathMs, machine.exited);
      expect(exit.requested).toBe(false);
      expect(exit.reason).not.toBe('');
      await within(deathMs, agent.closed);
      await expect(agent.hello()).rejects.toMatchObject({ name: 'GuestUnreachable' });
    });
  });
}

/** Waits for the work at most this long. */
function within<T>(deadlineMs: number, work: Promise<T>): Promise<T> {
  return withDeadline('the driver', deadlineMs, work);
}
