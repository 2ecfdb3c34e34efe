import { setTimeout as pause } from 'node:timers/promises';
import type { PostgresServer } from '#server-test/store/postgres-server.ts';
import type { Api } from './api.ts';
import { machinePids, signalProcess } from './machine-pids.ts';
import type { Random } from './random.ts';
import type { ServiceProcess } from './service-process.ts';
import type { Trace } from './trace.ts';

export interface KillerParts {
  readonly random: Random;
  readonly service: ServiceProcess;
  readonly api: Api;
  readonly trace: Trace;
  /** Takes what it sees go wrong. */
  readonly problems: string[];
  /** The database server, to be stopped and started as well. */
  readonly postgres?: PostgresServer;
}

/** How long a request may take while the database is down. */
const answerMs = 15_000;

/** Kills the service, machines and the database at moments that the seed decides. */
export class Killer {
  readonly #parts: KillerParts;

  constructor(parts: KillerParts) {
    this.#parts = parts;
  }

  /** Goes on until it is told to end; everything it stopped is started again then. */
  async run(isEnded: () => boolean): Promise<void> {
    const { random, postgres } = this.#parts;
    const weights = { service: 30, twice: 8, machine: 30, database: postgres === undefined ? 0 : 40 };
    while (!isEnded()) {
      await pause(random.between(1_000, 7_000));
      if (isEnded()) return;
      switch (random.weighted(weights)) {
        case 'service':
          await this.#killService();
          break;
        case 'twice':
          await this.#killWhileItStarts();
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
    const { random, service, trace } = this.#parts;
    const downMs = random.between(0, 800);
    trace.note(`kill -9 service, down for ${downMs} ms`);
    trace.count('kill service');
    await service.kill();
    await pause(downMs);
    const beganAtMs = performance.now();
    await service.start();
    trace.note(`service is back, started in ${Math.round(performance.now() - beganAtMs)} ms`);
  }

  async #killWhileItStarts(): Promise<void> {
    const { random, service, trace } = this.#parts;
    const afterMs = random.between(100, 2_500);
    trace.note(`kill -9 service, and again ${afterMs} ms into its start`);
    trace.count('kill service');
    await service.kill();
    service.begin();
    await pause(afterMs);
    await this.#killService();
  }

  async #killMachine(): Promise<void> {
    const { random, service, trace } = this.#parts;
    const victim = random.pick([...(await machinePids(service.dataDir))]);
    if (victim === undefined) return;
    trace.note(`kill -9 machine ${victim[0]}`);
    if (signalProcess(victim[1], 'SIGKILL')) trace.count('kill machine');
  }

  async #stopDatabase(): Promise<void> {
    const { random, postgres, trace } = this.#parts;
    if (postgres === undefined) return;
    const how = random.weighted({ fast: 1, kill: 1 });
    const downMs = random.between(300, 4_000);
    trace.note(`stop database (${how}) for ${downMs} ms`);
    trace.count(`stop database ${how}`);
    await postgres.stop(how);
    await Promise.all([pause(downMs), this.#askWithoutDatabase()]);
    await postgres.start();
    trace.note('database is back');
  }

  /** While the database is down a request is answered, and soon. */
  async #askWithoutDatabase(): Promise<void> {
    const { api, problems } = this.#parts;
    const askedAtMs = performance.now();
    const { status } = await api.ask('GET', '/sandboxes');
    const tookMs = performance.now() - askedAtMs;
    if (status !== 500) problems.push(`without a database a request is answered ${status}`);
    if (tookMs > answerMs) problems.push(`without a database an answer took ${Math.round(tookMs)} ms`);
  }
}
