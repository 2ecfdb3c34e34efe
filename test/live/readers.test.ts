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
    await takePeakBytes(pid);
    const beforeMib = (await takePeakBytes(pid)) / mib;
    const { id } = await startInBackground(service, sandboxId, `yes | head -c ${bytes}; echo written >&2`);
    const dead = await Promise.all(Array.from({ length: 10 }, () => stream(id)));
    await untilEnded(id);
    const peakMib = (await takePeakBytes(pid)) / mib;
    const grown = `the service had ${beforeMib.toFixed(0)} MiB before and up to ${peakMib.toFixed(0)} MiB meanwhile`;
    console.log(`${bytes / mib} MiB written with ten readers that do not read: ${grown}`);
    // Each of them has missed more than that.
    expect(peakMib - beforeMib).toBeLessThan(200);
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
