import { describe, type ExpectStatic, it } from 'vitest';
import { call, createSandbox, type ExecutionBody, exec } from '../support/api-requests.ts';
import { RestartableService } from '../support/restartable-service.ts';

interface ExecutionListBody {
  readonly data: readonly Pick<ExecutionBody, 'id' | 'status'>[];
}

/** A command that counts on standard output, and in a file that shows its progress. */
function countTo(max: number, everySeconds: number) {
  return `for i in $(seq ${max}); do echo line $i; echo $i > /workspace/progress; sleep ${everySeconds}; done`;
}
/** The output of that command. */
function countedTo(max: number) {
  return Array.from({ length: max }, (_, index) => `line ${index + 1}\n`).join('');
}

async function executionsOf(service: RestartableService, sandboxId: string): Promise<ExecutionListBody['data']> {
  const response = await call(service, 'GET', `/sandboxes/${sandboxId}/executions`);
  return ((await response.json()) as ExecutionListBody).data;
}

/** Starts a command, whose response will be lost, and waits until it has made progress. */
async function startCommand(
  service: RestartableService,
  sandboxId: string,
  command: string,
  expect: ExpectStatic,
): Promise<{ readonly lost: Promise<unknown> }> {
  const lost = exec(service, sandboxId, command).catch(() => 'lost');
  const progress = async () => {
    const response = await call(service, 'GET', `/sandboxes/${sandboxId}/files?path=progress`);
    return Number(((await response.json()) as { content?: string }).content ?? 0);
  };
  await expect.poll(progress).toBeGreaterThanOrEqual(2);
  expect(await executionsOf(service, sandboxId)).toMatchObject([{ status: 'running' }]);
  return { lost };
}

// They mostly wait for the command.
describe.concurrent('a command that runs while the service restarts ends completed, with its complete output', () => {
  it.for([
    ['after kill -9', 'kill', 30, 0.2],
    // Longer than a stop waits for requests in flight.
    ['after an orderly stop', 'detach', 80, 0.2],
  ] as const)('%s', async ([, end, max, everySeconds], { expect, onTestFinished }) => {
    const service = await RestartableService.create();
    onTestFinished(() => service.remove());
    const { id } = await createSandbox(service);
    const { lost } = await startCommand(service, id, countTo(max, everySeconds), expect);
    await service[end]();
    expect(await lost).toBe('lost');

    await service.start();
    const [listed, ...others] = await executionsOf(service, id);
    expect(others).toEqual([]);
    const readExecution = async (): Promise<ExecutionBody> => {
      const response = await call(service, 'GET', `/executions/${listed?.id}`);
      return (await response.json()) as ExecutionBody;
    };
    await expect.poll(async () => (await readExecution()).status).not.toBe('running');
    expect(await readExecution()).toMatchObject({
      status: 'completed',
      exit_code: 0,
      stdout: countedTo(max),
      truncated: false,
    });
    expect(await executionsOf(service, id)).toMatchObject([{ id: listed?.id, status: 'completed' }]);
    expect((await exec(service, id, 'echo still works')).stdout).toBe('still works\n');
  });
});
