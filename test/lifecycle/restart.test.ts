import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { ServiceProcess } from '../support/chaos/service-process.ts';
import { call, createSandbox, type ExecutionBody, exec } from '../support/http.ts';

interface ExecutionListBody {
  readonly data: readonly Pick<ExecutionBody, 'id' | 'status'>[];
}

let service: ServiceProcess;
beforeEach(async () => {
  service = await ServiceProcess.create();
});
afterEach(() => service.remove());

/** Counts aloud, and in a file, so that one sees how far it is. */
const counting = (most: number, everySeconds: number) =>
  `for i in $(seq ${most}); do echo line $i; echo $i > /workspace/progress; sleep ${everySeconds}; done`;
const counted = (most: number) => Array.from({ length: most }, (_, index) => `line ${index + 1}\n`).join('');

const executionsOf = async (sandboxId: string): Promise<ExecutionListBody['data']> => {
  const response = await call(service, 'GET', `/sandboxes/${sandboxId}/executions`);
  return ((await response.json()) as ExecutionListBody).data;
};

/** Starts the command, whose answer nobody will get, and waits until it is well under way. */
const begin = async (sandboxId: string, command: string): Promise<{ readonly lost: Promise<unknown> }> => {
  const lost = exec(service, sandboxId, command).catch(() => 'lost');
  const progress = async () => {
    const response = await call(service, 'GET', `/sandboxes/${sandboxId}/files?path=progress`);
    return Number(((await response.json()) as { content?: string }).content ?? 0);
  };
  await expect.poll(progress, { timeout: 30_000 }).toBeGreaterThanOrEqual(2);
  expect(await executionsOf(sandboxId)).toMatchObject([{ status: 'running' }]);
  return { lost };
};

describe('a command that runs while the service is started again ends completed, with its whole output', () => {
  it.each([
    ['after kill -9', 'kill', 30, 0.2],
    // Longer than a stop waits for requests in flight.
    ['after an orderly stop', 'leave', 80, 0.2],
  ] as const)('%s', async (_, end, most, everySeconds) => {
    const { id } = await createSandbox(service);
    const { lost } = await begin(id, counting(most, everySeconds));
    await service[end]();
    expect(await lost).toBe('lost');

    await service.start();
    const [listed, ...others] = await executionsOf(id);
    expect(others).toEqual([]);
    const ended = async (): Promise<ExecutionBody> => {
      const response = await call(service, 'GET', `/executions/${listed?.id}`);
      return (await response.json()) as ExecutionBody;
    };
    await expect.poll(async () => (await ended()).status, { timeout: 60_000 }).not.toBe('running');
    expect(await ended()).toMatchObject({ status: 'completed', exit_code: 0, stdout: counted(most), truncated: false });
    expect(await executionsOf(id)).toMatchObject([{ id: listed?.id, status: 'completed' }]);
    expect((await exec(service, id, 'echo on it goes')).stdout).toBe('on it goes\n');
  });
});
