import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresServer } from '#server-test/store/postgres-server.ts';
import { machinePids, signalProcess } from '../machine-processes.ts';
import type { RestartableService } from '../restartable-service.ts';
import type { ChaosApi } from './chaos-api.ts';
import type { Trace } from './history.ts';
import type { Random } from './random.ts';

export interface KillerOptions {
  readonly random: Random;
  readonly service: RestartableService;
  readonly api: ChaosApi;
  readonly trace: Trace;
  /** Problems that are detected are appended here. */
  readonly problems: string[];
  /** The database server, if it is to be stopped and started too. */
  readonly postgres?: PostgresServer;
}

/** How long a request may take while the database is down. */
const maxResponseMs = 15_000;

/** Kills the service, machines and the database at times that the seed determines. */
export class Killer {
  readonly #options: KillerOptions;

  constructor(options: KillerOptions) {
    this.#options = options;
  }

  /** Runs until each kind of kill has happened once and `isStopped` returns true. Everything that was stopped is started again by then. */
  async run(isStopped: () => boolean): Promise<void> {
    const { random, postgres } = this.#options;
    const weights = {
      everything: 15,
      duringStart: 8,
      host: 15,
      service: 15,
      machine: 30,
      database: postgres === undefined ? 0 : 40,
    };
    // Each run has these, however long it takes and however the dice fall afterwards.
    const first: (keyof typeof weights)[] = ['host', 'service', 'everything'];
    if (postgres !== undefined) first.unshift('database');
    const isOver = () => first.length === 0 && isStopped();
    while (!isOver()) {
      await pause(random.between(1_000, 7_000));
      if (isOver()) return;
      const kind = first.shift() ?? random.weighted(weights);
      switch (kind) {
        case 'everything':
          await this.#killService();
          break;
        case 'host':
        case 'service':
          await this.#killOne(kind);
          break;
        case 'duringStart':
          await this.#killDuringStart();
          break;
        case 'machine':
          await this.#killMachine();
          break;
        case 'database':
          await this.#stopDatabase();
          break;
      }
    }
  }

  async #killService(): Promise<void> {
    const { random, service, trace } = this.#options;
    const downMs = random.between(0, 800);
    trace.note(`kill -9 host and service, down for ${downMs} ms`);
    trace.count('kill service');
    await service.kill();
    await pause(downMs);
    const startedAtMs = performance.now();
    await service.start();
    trace.note(`service is back, started in ${Math.round(performance.now() - startedAtMs)} ms`);
  }

  /** Kills one of the two processes, at times again while it starts. The supervisor starts it again. */
  async #killOne(which: 'host' | 'service'): Promise<void> {
    const { random, service, trace } = this.#options;
    const times = random.between(1, 2);
    for (let time = 0; time < times; time += 1) {
      trace.note(`kill -9 of the ${which} process alone`);
      if (service.killOne(which)) trace.count(`kill ${which} alone`);
      await pause(random.between(100, 1_500));
    }
  }

  async #killDuringStart(): Promise<void> {
    const { random, service, trace } = this.#options;
    const afterMs = random.between(100, 2_500);
    trace.note(`kill -9 host and service, and again ${afterMs} ms into its start`);
    trace.count('kill service');
    await service.kill();
    service.startWithoutWaiting();
    await pause(afterMs);
    await this.#killService();
  }

  async #killMachine(): Promise<void> {
    const { random, service, trace } = this.#options;
    const victim = random.pick([...(await machinePids(service.dataDir))]);
    if (victim === undefined) return;
    trace.note(`kill -9 machine ${victim[0]}`);
    if (signalProcess(victim[1], 'SIGKILL')) trace.count('kill machine');
  }

  async #stopDatabase(): Promise<void> {
    const { random, postgres, trace } = this.#options;
    if (postgres === undefined) return;
    const how = random.weighted({ fast: 1, kill: 1 });
    const downMs = random.between(300, 4_000);
    trace.note(`stop database (${how}) for ${downMs} ms`);
    trace.count(`stop database ${how}`);
    await postgres.stop(how);
    await Promise.all([pause(downMs), this.#requestWithoutDatabase()]);
    await postgres.start();
    trace.note('database is back');
  }

  /** Checks that requests fail promptly, instead of hanging, while the database is down. */
  async #requestWithoutDatabase(): Promise<void> {
    const { api, problems } = this.#options;
    const sentAtMs = performance.now();
    const { status } = await api.request('GET', '/sandboxes');
    const tookMs = performance.now() - sentAtMs;
    // No response at all if the service was killed shortly before and cannot come back without a database.
    if (status !== 500 && status !== 0) problems.push(`without a database a request returned ${status}`);
    if (tookMs > maxResponseMs) problems.push(`without a database a request took ${Math.round(tookMs)} ms`);
  }
}
