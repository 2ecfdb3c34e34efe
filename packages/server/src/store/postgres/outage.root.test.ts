import { afterAll, afterEach, beforeAll, beforeEach, expect, test, vi } from 'vitest';
import { RecordedLog } from '../../../test/recorded-log.ts';
import { account, admitAll, insert, newSandbox } from '../../../test/store/fixtures.ts';
import { PostgresServer } from '../../../test/store/postgres-server.ts';
import { StallingProxy } from '../../../test/store/stalling-proxy.ts';
import type { Store } from '../../core/ports/store/store.ts';
import { DeadlinePool } from './connection-pool.ts';
import { openPostgresStore } from './open.ts';

vi.setConfig({ testTimeout: 240_000, hookTimeout: 240_000 });

/** Long enough for a connection and an answer on a busy machine; the tests below wait for them to pass. */
const deadlines = {
  connectMs: 5_000,
  statementMs: 5_000,
  idleInTransactionMs: 5_000,
  answerMs: 5_500,
  closeMs: 500,
};
/** No request waits longer than for a connection and an answer; the rest is a margin for a busy machine. */
const soonMs = 60_000;

let server: PostgresServer;
let proxy: StallingProxy;
let log: RecordedLog;
let store: Store;
beforeAll(async () => {
  server = await PostgresServer.create();
  proxy = await StallingProxy.open(server.port);
});
afterAll(async () => {
  await proxy.close();
  await server.remove();
});
beforeEach(async () => {
  const url = server.url(await server.createDatabase(), { port: proxy.port });
  log = new RecordedLog();
  store = await openPostgresStore(url, { log, deadlines });
  // A connection may take longer than its deadline while other suites keep the machine busy.
  await expect
    .poll(
      () =>
        store.accounts.createFirst(account).then(
          () => true,
          () => false,
        ),
      { timeout: soonMs },
    )
    .toBe(true);
});
afterEach(() => store.close());

const find = () => store.accounts.findByKeyHash(account.key.hash);
const create = (id: string) => store.sandboxes.insert(newSandbox(id), admitAll);

/** The number of requests that fail. All of them must end soon. */
async function failures(requests: readonly Promise<unknown>[]): Promise<number> {
  const startedMs = performance.now();
  const outcomes = await Promise.allSettled(requests);
  expect(performance.now() - startedMs).toBeLessThan(soonMs);
  return outcomes.filter(({ status }) => status === 'rejected').length;
}

/** Waits until a request succeeds, with a deadline. */
async function worksAgain(): Promise<void> {
  await expect.poll(() => find().then(Boolean, () => false), { timeout: soonMs }).toBe(true);
}

test.each(['fast', 'kill'] as const)('a server that is stopped (%s) and restarted', async (how) => {
  await Promise.all(Array.from({ length: 8 }, find));
  const creates = Array.from({ length: 30 }, (_, index) => create(`sbx_${index}`));
  await Promise.allSettled([server.stop(how), ...creates]);
  expect(await failures([find(), create('sbx_x'), find(), store.ledger.funds(account.id)])).toBe(4);

  await server.start();
  await worksAgain();
  const kept = await store.sandboxes.list(account.id, { limit: 100, includeDeleted: true });
  const outcomes = await Promise.allSettled(creates);
  const told = outcomes.flatMap((outcome) =>
    outcome.status === 'fulfilled' && outcome.value.kind === 'inserted' ? [outcome.value.sandbox.id] : [],
  );
  expect(kept.map(({ id }) => id)).toEqual(expect.arrayContaining(told));
  expect((await insert(store, 'sbx_again')).status).toBe('provisioning');
});

test('idle connections that are lost are logged and replaced', async () => {
  await Promise.all(Array.from({ length: 5 }, find));
  await server.stop();
  await expect.poll(() => log.events).toEqual(Array.from({ length: 5 }, () => 'database_connection_lost'));
  await server.start();
  await worksAgain();
});

test('a connection that is lost in use fails its next query, and nothing else', async () => {
  const options = { url: server.url('postgres'), maxConnections: 2, log };
  const pool = new DeadlinePool({ ...options, deadlines });
  const held = await pool.connect();
  await server.stop();
  await expect(pool.connect()).rejects.toThrow('ECONNREFUSED');
  await expect(held.query('select 1', [])).rejects.toThrow();
  held.release();
  await server.start();
  (await pool.connect()).release();
  await pool.end();
});

test('when the network drops all packets, requests end in time and succeed once it recovers', async () => {
  await Promise.all(Array.from({ length: 5 }, find));
  proxy.stall();
  const requests = Array.from({ length: 25 }, (_, index) => (index % 2 ? find() : create(`sbx_${index}`)));
  expect(await failures(requests)).toBe(25);
  expect(await failures([find(), create('sbx_x')])).toBe(2);

  proxy.recover();
  await worksAgain();
  expect((await insert(store, 'sbx_again')).status).toBe('provisioning');
});

test('a store whose network drops all packets still closes in time', async () => {
  await Promise.all(Array.from({ length: 5 }, find));
  proxy.stall();
  const pending = find();
  expect(await failures([store.close(), pending])).toBe(1);
  proxy.recover();
  store = await openPostgresStore(server.url(await server.createDatabase()), { log });
});
