import type { ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import type { Config } from '../app/config.ts';
import { freshProcessCgroup, serviceLimits } from '../confinement/process-cgroup.ts';
import { requiredPaths } from '../confinement/service-view.ts';
import {
  type ConfinementSpec,
  hostConfinement,
  serviceConfinement,
  serviceFolders,
  type UserIds,
} from '../confinement/spec.ts';
import { startConfined } from '../confinement/start-confined.ts';
import type { Log } from '../core/ports/runtime.ts';
import type { HostSettings } from '../host-process/settings.ts';
import type { QemuDriverOptions } from '../machines/qemu/driver.ts';
import { detectCgroups } from '../machines/qemu/jail/cgroup-layout.ts';
import { Cgroups } from '../machines/qemu/jail/cgroups.ts';
import { ProcessKiller } from '../machines/qemu/jail/process-killer.ts';
import { processesInstance, serviceGroupOf } from '../machines/qemu/owners/owner-records.ts';
import { runStep } from '../machines/qemu/steps.ts';
import { StartFailure } from '../process/start-failure.ts';
import { hostCeilings, machineLimits } from './machine-limits.ts';
import { openablePorts } from './openable-ports.ts';
import { PortHolder } from './port-holder.ts';

/** What set-up built: everything that is needed to run machines. */
export type PreparedMachines = Pick<QemuDriverOptions, 'engine' | 'templates' | 'tools'> & {
  /** When the guest's kernel and image were built, the older of the two. */
  readonly guestBuiltAtMs?: number;
  /** Where Node.js finds the code of both processes compiled. Without it they start slower. */
  readonly compiledCodeDir?: string;
};

/** What is to run: the host process and the service; both until every sandbox is destroyed; or the host process for a service that others start. */
export type Task = 'serve' | 'destroy' | 'host';

/** Everything that is known before the processes are started. */
export interface Plan {
  readonly config: Config;
  readonly machines: PreparedMachines;
  readonly user: UserIds;
  readonly task: Task;
  readonly log: Log;
}

export const checkout = join(import.meta.dirname, '../../../..');

/** In the data folder, beside the parts of the service and of the host process. */
const portsSocketName = 'ports.sock';

const node = { nodePath: process.execPath, checkout };

function argvOf(module: string, ...args: readonly string[]): readonly string[] {
  return ['--disable-warning=ExperimentalWarning', join(checkout, 'packages/server/src', module), ...args];
}

/** Starts the host process: root, with the capabilities that the driver uses. */
export async function startHost({ config, machines, user }: Plan): Promise<ChildProcess> {
  const { engine, templates, tools } = machines;
  const settings: HostSettings = {
    dataDir: config.dataDir,
    serviceGid: user.gid,
    logLevel: config.logLevel,
    engine,
    templates,
    tools,
    ...machineLimits(config),
    ...hostCeilings(config),
    refusedRanges: [...config.egressRefuse],
  };
  const { compiledCodeDir } = machines;
  const env = { ...process.env, ...(compiledCodeDir !== undefined && { NODE_COMPILE_CACHE: compiledCodeDir }) };
  const spec = hostConfinement({ ...node, argv: argvOf('host-process/main.ts'), cgroupProcs: [], env });
  return startConfined(tools.jailPath, spec, { stdin: JSON.stringify(settings) });
}

/** Starts the service, again and again, without any privilege and in a cgroup of its own. */
export class ServiceStarter implements AsyncDisposable {
  readonly #plan: Plan;
  readonly #cgroups: Cgroups;
  readonly #group: string;
  #holder: PortHolder | undefined;

  private constructor(plan: Plan, cgroups: Cgroups) {
    this.#plan = plan;
    this.#cgroups = cgroups;
    this.#group = serviceGroupOf(plan.config.dataDir);
  }

  static async open(plan: Plan): Promise<ServiceStarter> {
    const killer = new ProcessKiller(plan.machines.tools.jailPath);
    return new ServiceStarter(plan, new Cgroups(await detectCgroups(), processesInstance, { killer, step: runStep }));
  }

  /** Kills a service that an earlier supervisor of the same data folder left. Only the holder of the supervisor's lock may ask for it. */
  async endEarlier(): Promise<void> {
    await this.#cgroups.remove(this.#group);
  }

  async start(): Promise<ChildProcess> {
    return startConfined(this.#plan.machines.tools.jailPath, await this.prepare());
  }

  /** Empties the service's cgroup, which ends an earlier service, and returns how the next one is confined. */
  async prepare(): Promise<ConfinementSpec> {
    const { config, machines, user, task } = this.#plan;
    refuseMissingFiles(process.env);
    const cgroupProcs = await freshProcessCgroup(this.#cgroups, this.#group, serviceLimits());
    return serviceConfinement({
      ...node,
      ...serviceFolders(config.dataDir),
      arch: machines.engine.arch,
      user,
      argv: argvOf('app/main.ts', task),
      compiledCodeDir: machines.compiledCodeDir,
      cgroupProcs,
      // After the end of an earlier service, which had them open too.
      listenFrom: task === 'serve' ? await this.#holdPorts() : undefined,
      env: { ...process.env, MAYFLY_DATA_DIR: config.dataDir, MAYFLY_CACHE_DIR: config.cacheDir },
    });
  }

  /** Returns where mayfly-jail gets the service's ports. They stay open until they are released; if their holder has ended, they are opened again. */
  async #holdPorts(): Promise<string> {
    if (this.#holder && !this.#holder.isUsable) {
      this.#plan.log.error({}, 'port_holder_ended');
      await this.releasePorts();
    }
    if (!this.#holder) {
      const { config, machines, user } = this.#plan;
      this.#holder = await PortHolder.start({
        jailPath: machines.tools.jailPath,
        user,
        ports: await openablePorts(config),
        socketPath: join(config.dataDir, portsSocketName),
      });
    }
    return this.#holder.socketPath;
  }

  /** Lets go of the ports, for a stop: from then on they are open only as long as the service has them open. */
  async releasePorts(): Promise<void> {
    const holder = this.#holder;
    this.#holder = undefined;
    await holder?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.releasePorts();
    await this.endEarlier();
    await this.#cgroups.removeEmptyParents();
  }
}

/** What settings name must exist before the service is started, because it gets a view of it. PostgreSQL makes the folder of its socket when it starts. */
export function refuseMissingFiles(env: NodeJS.ProcessEnv): void {
  const missing = requiredPaths(env).filter((path) => !existsSync(path));
  if (missing.length === 0) return;
  throw new StartFailure(
    `${missing.join(' and ')} must exist, because MAYFLY_DATABASE_URL, PGHOST, PGPASSFILE or NODE_EXTRA_CA_CERTS names it. Start the database server, or correct the setting.`,
    { mayPass: true },
  );
}
