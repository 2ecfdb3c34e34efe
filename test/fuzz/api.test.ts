import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { OpenApiDocument } from '@mayfly/contract';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { Api } from '../support/conformance/api.ts';
import { sendRequest } from '../support/conformance/http-client.ts';
import { length } from '../support/length.ts';
import { machineProcesses } from '../support/machine-processes.ts';
import { type ServiceProcess, startServiceProcess } from '../support/service-process.ts';
import { newServiceData, type ServiceData, unlimitedRates } from '../support/service-settings.ts';
import { fuzz } from './run.ts';

const seed = Number(process.env.MAYFLY_FUZZ_SEED ?? Date.now() % 2 ** 31);
const count = Number(process.env.MAYFLY_FUZZ_REQUESTS ?? length(2_500, 10_000));

/** A low quota, so that requests reach it. */
const settings = { ...unlimitedRates, MAYFLY_LIMIT_CONCURRENT_SANDBOXES: '8' };

let service: ServiceProcess;
let data: ServiceData;
/** Sandboxes that must survive the whole run. */
let permanent: string[];
beforeAll(async () => {
  data = await newServiceData();
  service = await startServiceProcess(data, settings);
});
afterAll(async () => {
  await service?.kill();
  await data?.remove();
});

/** The memory and file descriptors of the service's process, for the log. */
async function processUsage(): Promise<string> {
  const status = await readFile(`/proc/${service.processes.service}/status`, 'utf8');
  const mib = Math.round(Number(/VmRSS:\s+(\d+)/.exec(status)?.[1]) / 1024);
  return `${mib} MiB resident, ${(await readdir(`/proc/${service.processes.service}/fd`)).length} descriptors`;
}

it(`${count} generated requests: no 500, no hang, every response has a documented shape`, {
  timeout: 1_200_000,
}, async () => {
  const { baseUrl, key, child } = service;
  const api = new Api(baseUrl, key);
  const { text } = await sendRequest({ method: 'GET', url: baseUrl.replace(/\/v1$/, '/openapi.json') });
  const document = JSON.parse(text) as OpenApiDocument;
  permanent = [await api.create({ timeout_minutes: 600 }), await api.create(), await api.create()].map(({ id }) => id);
  console.log(`MAYFLY_FUZZ_SEED=${seed} MAYFLY_FUZZ_REQUESTS=${count}`);
  const before = await processUsage();
  const isAlive = () => child.exitCode === null && child.signalCode === null;
  const { statistics, failures } = await fuzz({ baseUrl, key, document, permanent, seed, count, isAlive });
  expect(isAlive(), 'the service exited').toBe(true);
  console.log(`${statistics.toString()}\n  service before: ${before}\n  service after:  ${await processUsage()}`);
  expect(failures.join('\n\n'), `repeat with MAYFLY_FUZZ_SEED=${seed}`).toBe('');
});

it('afterwards old and new sandboxes accept commands, and a stop leaves nothing behind', async () => {
  const api = new Api(service.baseUrl, service.key);
  const { body } = await api.get<{ data: { id: string; status: string }[] }>('/sandboxes?limit=100');
  const running = body.data.filter(({ status }) => status === 'running');
  expect(running.map(({ id }) => id)).toEqual(expect.arrayContaining(permanent));
  await Promise.all(running.map(({ id }) => api.exec(id, 'echo works')));
  for (const { id } of running.slice(1)) await api.delete(`/sandboxes/${id}`);
  const fresh = await api.create();
  expect(await api.output(fresh.id, 'echo works')).toBe('works');
  const health = await sendRequest({ method: 'GET', url: service.baseUrl.replace(/\/v1$/, '/healthz') });
  expect(health.status).toBe(200);
  await service.destroy();
  expect(await machineProcesses(data.dataDir)).toEqual([]);
  expect(await readdir(join(data.dataDir, 'machines'))).toEqual([]);
});
