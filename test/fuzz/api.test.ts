import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenApiDocument } from '@mayfly/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Api } from '../support/conformance/api.ts';
import { exchange } from '../support/conformance/exchange.ts';
import { machineProcesses } from '../support/processes.ts';
import { roomyWindows } from '../support/service.ts';
import { newServiceData, type ServiceData } from '../support/service-data.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { fuzz } from './run.ts';

const seed = Number(process.env.MAYFLY_FUZZ_SEED ?? Date.now() % 2 ** 31);
const count = Number(process.env.MAYFLY_FUZZ_REQUESTS ?? 10_000);

/** The quota stays within reach. */
const settings = { ...roomyWindows, MAYFLY_LIMIT_CONCURRENT_SANDBOXES: '8' };

let service: ServiceProcess;
let data: ServiceData;
/** Sandboxes that must outlive it all. */
let live: string[];
beforeAll(async () => {
  data = await newServiceData();
  service = await startServiceProcess(data, settings);
});
afterAll(async () => {
  await service?.end('SIGKILL');
  await data?.remove();
});

/** What the service's process holds: memory in MiB, descriptors. */
const holdings = async (): Promise<string> => {
  const status = await readFile(`/proc/${service.child.pid}/status`, 'utf8');
  const mib = Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  return `${mib} MiB resident, ${(await readdir(`/proc/${service.child.pid}/fd`)).length} descriptors`;
};

it(`${count} generated requests: no 500, no hang, every answer of a documented shape`, {
  timeout: 1_200_000,
}, async () => {
  const { baseUrl, key, child } = service;
  const api = new Api(baseUrl, key);
  const { text } = await exchange({ method: 'GET', url: baseUrl.replace(/\/v1$/, '/openapi.json') });
  const document = JSON.parse(text) as OpenApiDocument;
  live = [await api.create({ timeout_minutes: 600 }), await api.create(), await api.create()].map(({ id }) => id);
  console.log(`MAYFLY_FUZZ_SEED=${seed} MAYFLY_FUZZ_REQUESTS=${count}`);
  const before = await holdings();
  const alive = () => child.exitCode === null && child.signalCode === null;
  const { statistics, failures } = await fuzz({ baseUrl, key, document, live, seed, count, alive });
  expect(alive(), 'the service ended').toBe(true);
  console.log(`${statistics.toString()}\n  service before: ${before}\n  service after:  ${await holdings()}`);
  expect(failures.join('\n\n'), `replay all with MAYFLY_FUZZ_SEED=${seed}`).toBe('');
});

it('the service is well after it: old and new sandboxes take commands, and nothing is left at the end', async () => {
  const api = new Api(service.baseUrl, service.key);
  const { body } = await api.get<{ data: { id: string; status: string }[] }>('/sandboxes?limit=100');
  const running = body.data.filter(({ status }) => status === 'running');
  expect(running.map(({ id }) => id)).toEqual(expect.arrayContaining(live));
  await Promise.all(running.map(({ id }) => api.exec(id, 'echo well')));
  for (const { id } of running.slice(1)) await api.delete(`/sandboxes/${id}`);
  const fresh = await api.create();
  expect(await api.output(fresh.id, 'echo well')).toBe('well');
  const health = await exchange({ method: 'GET', url: service.baseUrl.replace(/\/v1$/, '/healthz') });
  expect(health.status).toBe(200);
  await service.end('SIGTERM');
  expect(await machineProcesses(data.dataDir)).toEqual([]);
  expect(await readdir(join(data.dataDir, 'machines'))).toEqual([]);
});
