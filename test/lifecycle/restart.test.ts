import { describe, type ExpectStatic, it } from 'vitest';
import { call, createSandbox, type ExecutionBody, exec } from '../support/api-requests.ts';
import { RestartableService } from '../support/restartable-service.ts';

interface ExecutionListBody {
  readonly data: readonly Pick<ExecutionBody, 'id' | 'status'>[];
}

/** A command that counts on standard output, and in a file that shows its progress, until another file exists. */
const count = 'i=0; until [ -e finish ]; do i=$((i + 1)); echo line $i; echo $i > progress; sleep 0.5; done';
/** The output of that command. */
function countedTo(max: number) {
  return Array.from({ length: max }, (_, index) => `line ${index + 1}\n`).join('');
}

async function progressOf(service: RestartableService, sandboxId: string): Promise<number> {
  const response = await call(service, 'GET', `/sandboxes/${sandboxId}/files?path=progress`);
  return Number(((await response.json()) as { content?: string }).content ?? 0);
}

async function executionsOf(service: RestartableService, sandboxId: string): Promise<ExecutionListBody['data']> {
  const response = await call(service, 'GET', `/sandboxes/${sandboxId}/executions`);
  return ((await response.json()) as ExecutionListBody).data;
}

/** Starts the command, whose response will be lost, and waits until it has made progress. */
async function startCounting(
  service: RestartableService,
  sandboxId: string,
  expect: ExpectStatic,
): Promise<{ readonly lost: Promise<unknown> }> {
  const lost = exec(service, sandboxId, count, { timeout_ms: 600_000 }).catch(() => 'lost');
  await expect.poll(() => progressOf(service, sandboxId), { interval: 500 }).toBeGreaterThanOrEqual(2);
  expect(await executionsOf(service, sandboxId)).toMatchObject([{ status: 'running' }]);
  return { lost };
}

// They mostly wait for the service.
describe.concurrent('a command that runs while the service restarts ends completed, with its complete output', () => {
  it.for([
    ['after kill -9', 'kill'],
    ['after an orderly stop', 'detach'],
  ] as const)('%s', async ([, end], { expect, onTestFinished }) => {
    const service = await RestartableService.create({ MAYFLY_POOL: 'none' });
    onTestFinished(() => service.remove());
    const { id } = await createSandbox(service);
    const { lost } = await startCounting(service, id, expect);
    await service[end]();
    expect(await lost).toBe('lost');

    await service.start();
    const [listed, ...others] = await executionsOf(service, id);
    expect([listed?.status, others]).toEqual(['running', []]);
    const finish = await call(service, 'PUT', `/sandboxes/${id}/files`, { path: 'finish', content: '' });
    expect(finish.status).toBe(201);
    const readExecution = async (): Promise<ExecutionBody> => {
      const response = await call(service, 'GET', `/executions/${listed?.id}`);
      return (await response.json()) as ExecutionBody;
    };
    await expect.poll(async () => (await readExecution()).status).not.toBe('running');
    expect(await readExecution()).toMatchObject({
      status: 'completed',
      exit_code: 0,
      stdout: countedTo(await progressOf(service, id)),
      truncated: false,
    });
    expect(await executionsOf(service, id)).toMatchObject([{ id: listed?.id, status: 'completed' }]);
    expect((await exec(service, id, 'echo still works')).stdout).toBe('still works\n');
  });
});
