import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import type { Config } from '../app/config.ts';
import { hostCeilings, machineLimits } from '../app/machine-limits.ts';
import type { Log } from '../core/ports/runtime.ts';
import type { HostSettings } from '../host/settings.ts';
import { privilegedPorts, type WantedPort } from '../machines/confinement/privileged-ports.ts';
import {
  freshProcessCgroup,
  processesInstance,
  serviceGroupOf,
  serviceLimits,
} from '../machines/confinement/process-cgroup.ts';
import {
  type ConfinementSpec,
  hostConfinement,
  type ServiceFolders,
  serviceConfinement,
  type UserIds,
} from '../machines/confinement/spec.ts';
import { startConfined } from '../machines/confinement/start-confined.ts';
import type { QemuDriverOptions } from '../machines/qemu/driver.ts';
import { detectCgroups } from '../machines/qemu/jail/cgroup-layout.ts';
import { Cgroups } from '../machines/qemu/jail/cgroups.ts';
import { ProcessKiller } from '../machines/qemu/jail/process-killer.ts';
import { runStep } from '../machines/qemu/steps.ts';

/** What set-up built: everything that is needed to run machines. */
export type PreparedMachines = Pick<QemuDriverOptions, 'engine' | 'templates' | 'tools'> & {
  /** When the guest's kernel and image were built, the older of the two. */
  readonly guestBuiltAtMs?: number;
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
  const spec = hostConfinement({ ...node, argv: argvOf('host/main.ts'), cgroupProcs: [], env: process.env });
  return startConfined(tools.jailPath, spec, { stdin: JSON.stringify(settings) });
}

/** Starts the service, again and again, without any privilege and in a cgroup of its own. */
export class ServiceStarter implements AsyncDisposable {
  readonly #plan: Plan;
  readonly #folders: ServiceFolders;
  readonly #cgroups: Cgroups;
  readonly #group: string;

  private constructor(plan: Plan, folders: ServiceFolders, cgroups: Cgroups) {
    this.#plan = plan;
    this.#folders = folders;
    this.#cgroups = cgroups;
    this.#group = serviceGroupOf(plan.config.dataDir);
  }

  static async open(plan: Plan, folders: ServiceFolders): Promise<ServiceStarter> {
    const killer = new ProcessKiller(plan.machines.tools.jailPath);
    return new ServiceStarter(
      plan,
      folders,
      new Cgroups(await detectCgroups(), processesInstance, { killer, step: runStep }),
    );
  }

  async start(): Promise<ChildProcess> {
    return startConfined(this.#plan.machines.tools.jailPath, await this.prepare());
  }

  /** Empties the service's cgroup, which ends an earlier service, and returns how the next one is confined. */
  async prepare(): Promise<ConfinementSpec> {
    const { config, machines, user, task } = this.#plan;
    return serviceConfinement({
      ...node,
      ...this.#folders,
      arch: machines.engine.arch,
      user,
      argv: argvOf('app/main.ts', task),
      cgroupProcs: await freshProcessCgroup(this.#cgroups, this.#group, serviceLimits()),
      listen: task === 'serve' ? await privilegedPorts(wantedPorts(config)) : [],
      env: { ...process.env, MAYFLY_DATA_DIR: config.dataDir, MAYFLY_CACHE_DIR: config.cacheDir },
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#cgroups.remove(this.#group);
    await this.#cgroups.removeEmptyParents();
  }
}

/** Where the service is to listen. */
export function wantedPorts({ host, port, previewHost, previewPort }: Config): readonly WantedPort[] {
  return [
    { name: 'api', host, port },
    { name: 'previews', host: previewHost, port: previewPort },
  ];
}
