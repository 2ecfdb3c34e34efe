import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { call, createSandbox, type ExecutionBody } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { openEvents, Received, receive, receiveToTheEnd, startInBackground } from '../support/live-commands.ts';
import { takePeakBytes } from '../support/process-memory.ts';
import { RestartableService } from '../support/restartable-service.ts';

const mib = 1024 ** 2;
/** Many times what it takes. */
const deadlineMs = 1_200_000;

let service: RestartableService;
let sandboxId: string;
beforeAll(async () => {
  service = await RestartableService.create({ MAYFLY_POOL: 'none' });
  sandboxId = (await createSandbox(service)).id;
});
afterAll(() => service.remove());

const stream = (id: string) => openEvents(service, `/executions/${id}/stream`);
const untilEnded = async (id: string) => {
  const status = async () => ((await (await call(service, 'GET', `/executions/${id}`)).json()) as ExecutionBody).status;
  while ((await status()) === 'running') await pause(1_000);
};

it(
  'readers that do not read neither hold the command nor grow the memory of the service, and are told what they missed',
  async () => {
    const bytes = length(80, 400) * mib;
    const { pid } = service;
    const run = async (readers: number) => {
      const { id } = await startInBackground(service, sandboxId, `yes | head -c ${bytes}; echo written >&2`);
      const dead = await Promise.all(Array.from({ length: readers }, () => stream(id)));
      await takePeakBytes(pid);
      await untilEnded(id);
      return { id, dead, peakMib: (await takePeakBytes(pid)) / mib };
    };
    const without = await run(0);
    const { id, dead, peakMib } = await run(10);
    console.log(
      `${bytes / mib} MiB written: the service used up to ${without.peakMib.toFixed(0)} MiB without readers, ${peakMib.toFixed(0)} MiB with ten that do not read`,
    );
    // Each of them has missed more than that.
    expect(peakMib - without.peakMib).toBeLessThan(160);
    const [late, ...others] = dead;
    for (const response of others) await response.body?.cancel();
    if (late === undefined) throw new Error('no reader');
    const received = new Received();
    // If it did not read for long, the service has disconnected it.
    await receive(late, received).catch(() => {});
    await receiveToTheEnd(service, id, received);
    expect(received.lostBytes).toBeGreaterThan(0);
    expect(received.text('stderr')).toBe('written\n');
    expect(received.exit).toMatchObject({ status: 'completed', truncated: true });
    const again = await receive(await stream(id));
    expect(again.lostBytes).toBeGreaterThan(bytes - 65 * mib);
    expect(again.lostBytes + again.text().length).toBe(bytes + 8);
  },
  deadlineMs,
);
