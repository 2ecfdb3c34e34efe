import { tmpdir } from 'node:os';
import { sizeNames } from '@mayfly/contract';
import fc from 'fast-check';
import { pino } from 'pino';
import { expect, test } from 'vitest';
import { assembleCore, type Core } from '../../src/app/assemble-core.ts';
import { readConfig } from '../../src/app/config.ts';
import { AccountError } from '../../src/core/accounts/find-account.ts';
import { addCredit } from '../../src/core/accounts/manage-accounts.ts';
import { ApiError } from '../../src/core/errors/api-error.ts';
import { balanceMicroUsd } from '../../src/core/money/balance.ts';
import type { MachineDriver } from '../../src/core/ports/machine-driver.ts';
import type { AccountRecord } from '../../src/core/ports/store/account-store.ts';
import type { Store } from '../../src/core/ports/store/store.ts';
import { adoptMachines } from '../../src/core/recovery/adopt-machines.ts';
import { reconcile } from '../../src/core/recovery/reconcile.ts';
import { createSandbox } from '../../src/core/sandboxes/create.ts';
import { deleteSandbox, expireSandboxes } from '../../src/core/sandboxes/end.ts';
import { extendSandbox } from '../../src/core/sandboxes/extend.ts';
import { keepSnapshots } from '../../src/core/snapshots/recover.ts';
import { deleteSnapshot } from '../../src/core/snapshots/remove.ts';
import { takeSnapshot } from '../../src/core/snapshots/take.ts';
import { CrashableDriver } from './crashable-driver.ts';
import { type Fault, FaultyStore, InjectedFault } from './faulty-store.ts';
import { MoneyBook } from './money-book.ts';
import { StubDriver } from './stub-driver.ts';
import { StubConnector } from './stub-guest.ts';

const quota = 3;
const snapshotQuota = 2;
const minuteMs = 60_000;
const noNames = { name: null, alias: null };
const slowDestroyMs = 45_000;

/** The next database fault: a few calls fail, or the process dies. */
const fault: fc.Arbitrary<Fault> = fc.record({
  afterCalls: fc.nat(5),
  takesEffect: fc.boolean(),
  calls: fc.constantFrom(1, 2, 3, Number.POSITIVE_INFINITY),
});

/** What users, time and machines do. `which` selects one of the existing sandboxes or machines. */
const act = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('create' as const),
      size: fc.constantFrom(...sizeNames),
      minutes: fc.integer({ min: 1, max: 90 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('delete' as const), which: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.record({
      kind: fc.constant('extend' as const),
      which: fc.nat(9),
      minutes: fc.integer({ min: 1, max: 1440 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('sweep' as const) }) },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('machine dies' as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('machine stays' as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('launch fails' as const) }) },
  { weight: 3, arbitrary: fc.record({ kind: fc.constant('snapshot' as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('delete snapshot' as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('snapshot grows' as const), which: fc.nat(9) }) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('snapshot is lost' as const), which: fc.nat(9) }) },
  {
    weight: 2,
    arbitrary: fc.record({ kind: fc.constant('credit' as const), amount: fc.integer({ min: -200_000, max: 500_000 }) }),
  },
);
type Act = typeof act extends fc.Arbitrary<infer Value> ? Value : never;

/** Concurrent acts after some time, perhaps with a database fault and a restart. */
const turn = fc.record({
  passesMs: fc.oneof(fc.nat(90 * minuteMs), fc.constant(0)),
  fault: fc.option(fault, { freq: 3, nil: undefined }),
  acts: fc.array(act, { minLength: 1, maxLength: 3 }),
  restart: fc.option(
    fc.record({ downMs: fc.nat(30 * minuteMs), deaths: fc.nat(2), fault: fc.option(fault, { nil: undefined }) }),
    {
      freq: 5,
      nil: undefined,
    },
  ),
});
type Turn = typeof turn extends fc.Arbitrary<infer Value> ? Value : never;

/** One account with a persistent database and persistent machines, while processes of the service start and die. */
class World {
  readonly #store: Store;
  readonly #account: AccountRecord;
  readonly #host = new StubDriver();
  readonly #book: MoneyBook;
  readonly #config = readConfig({
    MAYFLY_DATA_DIR: tmpdir(),
    MAYFLY_LIMIT_CONCURRENT_SANDBOXES: `${quota}`,
    MAYFLY_LIMIT_SNAPSHOTS: `${snapshotQuota}`,
    // So much that a file of a stub costs something within an hour.
    MAYFLY_PRICE_SNAPSHOT_GB_MONTH: '100000',
    MAYFLY_MEMORY_RESERVE_MB: '0',
    MAYFLY_MEMORY_OVERCOMMIT: '1000',
    MAYFLY_DISK_RESERVE_MB: '0',
    MAYFLY_DISK_OVERCOMMIT: '1000',
  });
  /** Sandboxes whose creates failed without a crash of the process. */
  readonly #failedCreates = new Set<string>();
  #nowMs = Date.UTC(2026, 0, 1);
  #destroyMs = 0;
  #faulty: FaultyStore;
  #core: Core;
  #driver: MachineDriver;

  constructor(store: Store, account: AccountRecord, openingCreditMicroUsd: number) {
    const { prices, snapshotPriceMicroUsdPerGbMonth } = this.#config;
    this.#book = new MoneyBook(prices, snapshotPriceMicroUsdPerGbMonth, () => this.#nowMs);
    this.#book.creditsMicroUsd = openingCreditMicroUsd;
    this.#store = this.#book.watch(store);
    this.#account = account;
    [this.#faulty, this.#core, this.#driver] = this.#newProcess();
  }

  async take({ passesMs, fault: wrong, acts, restart }: Turn): Promise<void> {
    this.#nowMs += passesMs;
    this.#faulty.fail(wrong);
    this.#host.beforeLaunched = async () => {};
    // Only a create that runs alone may be slow: the clock is shared with concurrent acts.
    this.#destroyMs = acts.length === 1 && acts[0]?.kind === 'create' ? slowDestroyMs : 0;
    await Promise.all(acts.map((next) => this.#do(next).catch(expectRefusal)));
    await this.#core.background.idle();
    this.#faulty.fail(undefined);
    this.#destroyMs = 0;
    if (restart !== undefined || this.#faulty.dead) await this.#restart(restart ?? { downMs: 0, deaths: 0 });
    await this.check();
  }

  /** The balance is the credits minus the cost of runs, and the quota is not exceeded. */
  async check(): Promise<void> {
    const book = this.#book;
    const summary = await this.#store.ledger.summary(this.#account.id, 0);
    const { settledMicroUsd, spentMicroUsd, storageMicroUsd, addedMicroUsd, runtimeMs } = summary;
    const spent = book.endedMicroUsd + book.storedMicroUsd;
    expect({ settledMicroUsd, spentMicroUsd, storageMicroUsd, addedMicroUsd, runtimeMs }).toEqual({
      settledMicroUsd: book.creditsMicroUsd - spent,
      spentMicroUsd: spent,
      storageMicroUsd: book.storedMicroUsd,
      addedMicroUsd: book.creditsMicroUsd,
      runtimeMs: book.endedRuntimeMs,
    });
    const live = await balanceMicroUsd({ ...this.#core, store: this.#store }, this.#account);
    expect(live).toBe(book.creditsMicroUsd - spent - book.accruedMicroUsd);
    const snapshots = await this.#snapshots();
    expect(snapshots.length).toBeLessThanOrEqual(snapshotQuota);
    const sandboxes = await this.#sandboxes();
    const open = sandboxes.filter(({ status }) => status === 'provisioning' || status === 'running');
    expect(open.length).toBeLessThanOrEqual(quota);
    for (const { createdAtMs, readyAtMs, expiresAtMs, timeoutMinutes } of sandboxes) {
      if (readyAtMs === null || expiresAtMs === null) continue;
      expect(expiresAtMs).toBeLessThanOrEqual(readyAtMs + timeoutMinutes * minuteMs);
      expect(expiresAtMs).toBeLessThanOrEqual(createdAtMs + 1440 * minuteMs);
    }
  }

  /** Without further faults, deletes everything: no sandbox, machine or snapshot is left, and failed creates cost nothing. */
  async end(): Promise<void> {
    for (const machine of this.#host.machines) machine.beforeDestroyed = async () => {};
    await this.#sweep();
    for (const { id, status } of await this.#sandboxes()) {
      if (this.#failedCreates.has(id)) expect(status).toMatch(/^(failed|deleted)$/);
      if (status === 'running') await deleteSandbox(this.#core, this.#account, id);
    }
    await this.#sweep();
    expect((await this.#sandboxes()).filter(({ status }) => status !== 'failed' && status !== 'deleted')).toEqual([]);
    expect(await this.#host.adopt()).toEqual([]);
    const snapshots = await this.#snapshots();
    expect(snapshots.filter(({ status }) => status === 'creating')).toEqual([]);
    const ready = snapshots.filter(({ status }) => status === 'ready').map(({ id }) => id);
    expect([...this.#host.stored.keys()].toSorted()).toEqual(ready.toSorted());
    for (const { id } of snapshots) await deleteSnapshot(this.#core, this.#account, id);
    await this.#core.background.idle();
    expect(this.#host.stored.size).toBe(0);
    for (const id of this.#failedCreates) expect(this.#book.costMicroUsd(id)).toBe(0);
    await this.check();
    this.#core.teardowns[Symbol.dispose]();
  }

  async #do(next: Act): Promise<unknown> {
    switch (next.kind) {
      case 'create':
        return await this.#create(next.size, next.minutes);
      case 'delete':
        return await this.#delete(await this.#pick(next.which));
      case 'extend':
        return await extendSandbox(this.#core, this.#account, await this.#pick(next.which), {
          additional_minutes: next.minutes,
        });
      case 'sweep':
        return await this.#sweep();
      case 'machine dies':
        return (await this.#machine(next.which))?.die('killed');
      case 'machine stays':
        return await this.#keepMachine(next.which);
      case 'launch fails':
        this.#host.beforeLaunched = () => Promise.reject(new InjectedFault('no room'));
        return undefined;
      case 'snapshot':
        return await takeSnapshot(this.#core, this.#account, await this.#pick(next.which), noNames, null);
      case 'delete snapshot':
        return await deleteSnapshot(this.#core, this.#account, await this.#pickSnapshot(next.which));
      case 'snapshot grows':
        return this.#growSnapshot(await this.#pickSnapshot(next.which));
      case 'snapshot is lost':
        return this.#host.stored.delete(await this.#pickSnapshot(next.which));
      case 'credit':
        return await addCredit(this.#core, this.#account.email, { amountMicroUsd: next.amount, note: '' });
    }
  }

  async #create(size: (typeof sizeNames)[number], minutes: number): Promise<void> {
    const ids: string[] = [];
    const core: Core = {
      ...this.#core,
      ids: {
        next: (kind) => {
          const id = this.#core.ids.next(kind);
          ids.push(id);
          return id;
        },
      },
    };
    const faulty = this.#faulty;
    const body = { name: null, size, timeout_minutes: minutes, snapshot_id: null, template: null };
    try {
      await createSandbox(core, this.#account, body, null);
    } catch (error) {
      if (!faulty.dead) for (const id of ids) this.#failedCreates.add(id);
      throw error;
    }
  }

  /** Deleting a sandbox whose create was reported as failed acknowledges that it exists. */
  async #delete(id: string): Promise<void> {
    this.#failedCreates.delete(id);
    await deleteSandbox(this.#core, this.#account, id);
  }

  async #sweep(): Promise<void> {
    await expireSandboxes(this.#core);
    await reconcile(this.#core);
    this.#core.snapshotsChanged.mark();
    await keepSnapshots(this.#core);
    await this.#core.background.idle();
  }

  /** Ends the process and starts another one some time later, which may die while it starts. */
  async #restart({
    downMs,
    deaths,
    fault: wrong,
  }: NonNullable<Turn['restart']> | { downMs: number; deaths: number; fault?: undefined }): Promise<void> {
    this.#faulty.die();
    this.#core.teardowns[Symbol.dispose]();
    // A failed create that could not be recorded is lost with the process: its sandbox looks as if its machine had died.
    for (const { id, status } of await this.#sandboxes()) if (status === 'running') this.#failedCreates.delete(id);
    for (let death = 0; death < deaths; death++) (await this.#machine(death))?.die('killed');
    this.#nowMs += downMs;
    for (const next of [wrong, undefined]) {
      [this.#faulty, this.#core, this.#driver] = this.#newProcess();
      this.#faulty.fail(next);
      try {
        await adoptMachines(this.#core, this.#driver);
        await this.#core.background.idle();
        this.#faulty.fail(undefined);
        if (!this.#faulty.dead) return;
      } catch (error) {
        expectRefusal(error);
        this.#faulty.die();
      }
      this.#core.teardowns[Symbol.dispose]();
    }
  }

  /** The next two attempts to destroy a machine fail. */
  async #keepMachine(which: number): Promise<void> {
    const machine = await this.#machine(which);
    if (machine === undefined) return;
    let refusals = 2;
    machine.beforeDestroyed = async () => {
      if (refusals-- > 0) throw new InjectedFault('busy');
    };
  }

  async #machine(which: number) {
    const alive = await this.#host.adopt();
    return alive[which % alive.length];
  }

  async #pick(which: number): Promise<string> {
    const sandboxes = await this.#sandboxes();
    return sandboxes[which % sandboxes.length]?.id ?? 'sbx_none';
  }

  #snapshots() {
    return this.#store.snapshots.list(this.#account.id, { limit: 1_000 });
  }

  async #pickSnapshot(which: number): Promise<string> {
    const snapshots = await this.#snapshots();
    return snapshots[which % snapshots.length]?.id ?? 'snap_none';
  }

  #growSnapshot(id: string): void {
    const stored = this.#host.stored.get(id);
    if (stored === undefined) return;
    const more = { id: `more-${stored.files.length}-of-${id}`, bytes: 1_000_000 };
    this.#host.stored.set(id, { ...stored, files: [...stored.files, more] });
  }

  #sandboxes() {
    return this.#store.sandboxes.list(this.#account.id, { limit: 1_000, includeDeleted: true });
  }

  #newProcess(): [FaultyStore, Core, MachineDriver] {
    const faulty = new FaultyStore(this.#store);
    const driver = new CrashableDriver(
      this.#host,
      () => faulty.dead,
      () => {
        this.#nowMs += this.#destroyMs;
      },
    );
    const core = assembleCore({
      config: this.#config,
      store: faulty.store,
      driver,
      connector: new StubConnector(),
      log: pino({ level: 'silent' }),
      clock: { nowMs: () => this.#nowMs },
      isAccepting: () => true,
    });
    return [faulty, core, driver];
  }
}

/** The errors that callers may get here. Any other error is a bug in the service. */
function expectRefusal(error: unknown): void {
  if (error instanceof ApiError && error.type !== 'internal_error') return;
  if (error instanceof AccountError || error instanceof InjectedFault) return;
  throw error;
}

/** Random histories with faults, crashes and restarts. `open` returns an empty store. */
export function describeMoney(engine: string, runs: number, open: () => Promise<Store>): void {
  test(`over ${engine}: after any history of faults and crashes, the balance is the credits minus the cost of runs`, async () => {
    const store = await open();
    let accounts = 0;
    const history = fc.asyncProperty(fc.nat(500_000), fc.array(turn, { maxLength: 12 }), async (opening, turns) => {
      const name = `h${accounts++}`;
      const key = { id: `key_${name}`, hash: name, prefix: 'mf_' };
      const account = { id: `acct_${name}`, email: `${name}@localhost`, createdAtMs: 1 };
      await store.accounts.create({ ...account, openingCreditMicroUsd: opening, key });
      const world = new World(store, { ...account, suspended: false, limits: {} }, opening);
      for (const next of turns) await world.take(next);
      await world.end();
    });
    try {
      await fc.assert(history, { numRuns: runs });
    } finally {
      await store.close();
    }
  }, 300_000);
}
