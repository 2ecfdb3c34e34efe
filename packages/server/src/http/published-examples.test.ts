import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { type ErrorBody, type ErrorEntry, type ErrorType, errorTable, errorTypes } from '@mayfly/contract';
import { expect, test } from 'vitest';
import { stubService } from '../../test/app/stub-service.ts';
import { GuestUnreachable } from '../core/ports/guest-agent.ts';

type Service = Awaited<ReturnType<typeof stubService>>;
interface Refusal {
  readonly status: number;
  readonly body: ErrorBody;
}

const create = (service: Service, body: object = {}) => service.call('POST', '/v1/sandboxes', body);
const createdId = async (service: Service) => (await create(service)).body.id;
const exec = (service: Service, id: string) => service.call('POST', `/v1/sandboxes/${id}/exec`, { command: 'ls' });

/** Reads a path while the agent refuses every file operation with this code. */
async function readRefused(service: Service, code: string, query: Record<string, string>): Promise<Refusal> {
  const id = await createdId(service);
  service.connector.files.refuse(code);
  return service.call('GET', `/v1/sandboxes/${id}/files?${new URLSearchParams(query).toString()}`);
}

/** Makes Node's HTTP parser report this error on a connection. */
async function parserError({ app }: Service, code: string): Promise<Refusal> {
  const url = new URL(await app.listen({ port: 0, host: '127.0.0.1' }));
  app.server.once('connection', (socket: Socket) =>
    app.server.emit('clientError', Object.assign(new Error(code), { code }), socket),
  );
  const client = connect(Number(url.port), '127.0.0.1');
  await once(client, 'connect');
  const [head = '', body = ''] = (await text(client)).split('\r\n\r\n');
  return { status: Number(head.split(' ')[1]), body: JSON.parse(body) as ErrorBody };
}

/** How to provoke each error, once per status. */
const provocations: Readonly<Record<ErrorType, readonly ((service: Service) => Promise<Refusal>)[]>> = {
  invalid_request: [(service) => create(service, { size: 'tiny', timeout_minutes: 0 })],
  unauthorized: [(service) => service.call('GET', '/v1/account', undefined, { authorization: '' })],
  invalid_api_key: [
    async (service) => {
      await service.core.store.accounts.revokeKey('acct_test', 'key_test', service.clock.nowMs());
      return service.call('GET', '/v1/account');
    },
  ],
  account_suspended: [
    async (service) => {
      await service.core.store.accounts.setSuspended('acct_test', true);
      return service.call('GET', '/v1/account');
    },
  ],
  insufficient_credits: [
    async (service) => {
      const debit = { id: 'led_test', accountId: 'acct_test', createdAtMs: service.clock.nowMs(), note: '' };
      await service.store.ledger.addCredit({ ...debit, amountMicroUsd: -100_000_000 });
      return create(service);
    },
  ],
  not_found: [(service) => service.call('GET', '/v1/sandboxes/sbx_unknown')],
  sandbox_not_running: [
    async (service) => {
      const id = await createdId(service);
      service.driver.newest.die('killed by SIGKILL');
      await service.core.background.idle();
      return exec(service, id);
    },
  ],
  execution_not_running: [
    async (service) => {
      const { body } = await exec(service, await createdId(service));
      return service.call('POST', `/v1/executions/${body.id}/kill`);
    },
  ],
  rate_limit_exceeded: [
    async (service) => {
      await service.core.store.accounts.setLimits('acct_test', { requestsPerMinute: 0 });
      return service.call('GET', '/v1/account');
    },
  ],
  quota_exceeded: [
    async (service) => {
      await service.core.store.accounts.setLimits('acct_test', { concurrentSandboxes: 1 });
      await create(service);
      return create(service);
    },
  ],
  execution_failed: [
    async (service) => {
      const id = await createdId(service);
      service.connector.command = () => Promise.reject(new GuestUnreachable('the connection was lost'));
      return exec(service, id);
    },
  ],
  provisioning_failed: [
    (service) => {
      service.driver.beforeLaunched = () => Promise.reject(new Error('the machine did not start'));
      return create(service);
    },
  ],
  capacity_unavailable: [
    async () => {
      await using full = await stubService({}, { MAYFLY_MAX_MACHINES: '1' });
      await create(full);
      return await create(full);
    },
  ],
  internal_error: [
    (service) => {
      service.core.store.sandboxes.find = () => Promise.reject(new Error('disk I/O error'));
      return service.call('GET', '/v1/sandboxes/sbx_any');
    },
  ],
  write_failed: [
    async (service) => {
      const id = await createdId(service);
      service.connector.files.refuse('permission');
      return service.call('PUT', `/v1/sandboxes/${id}/files`, { path: '/etc/motd', content: '' });
    },
  ],
  read_failed: [(service) => readRefused(service, 'permission', { path: '/root/notes' })],
  list_failed: [(service) => readRefused(service, 'not_directory', { path: '/workspace/notes.txt', list: 'true' })],
  file_too_large: [(service) => readRefused(service, 'too_large', { path: '/workspace/video.mp4' })],
  request_error: [
    (service) => service.call('POST', '/v1/sandboxes', '{'),
    (service) => service.call('POST', '/v1/sandboxes', ' '.repeat(1_048_577)),
    (service) => service.call('GET', `/v1/sandboxes/${'x'.repeat(20_000)}`),
    (service) => parserError(service, 'HPE_HEADER_OVERFLOW'),
    (service) => parserError(service, 'ERR_HTTP_REQUEST_TIMEOUT'),
  ],
};

/** A message without what differs from call to call: ids and numbers. */
const normalised = (message: string) =>
  message.replaceAll(/\b[a-z]+_[a-z2-7]{24}\b/g, '<id>').replaceAll(/\d+/g, '<n>');

const cases = errorTypes.flatMap((type) => {
  const { statuses, examples }: ErrorEntry = errorTable[type];
  return statuses.map((status, at) => ({ type, status, example: examples[at] ?? '', provoke: provocations[type][at] }));
});

test.each(cases)('the published example of $status $type is a real message', async ({ type, status, ...one }) => {
  await using service = await stubService();
  const refusal = await one.provoke?.(service);
  expect([refusal?.status, refusal?.body.error.type]).toEqual([status, type]);
  expect(normalised(refusal?.body.error.message ?? '')).toBe(normalised(one.example));
});
