import { join } from 'node:path';
import { type Config, readConfig } from '../app/config.ts';
import { lockFolder } from '../app/data-folder.ts';
import { reportFailedStart } from '../app/failed-start.ts';
import { watchGuestAge } from '../app/guest-age.ts';
import { machineLimits } from '../app/machine-limits.ts';
import { protectFromOutOfMemory } from '../app/oom-protection.ts';
import { describeHostProblems, StartError } from '../app/start-error.ts';
import type { Log } from '../core/ports/runtime.ts';
import type { HostSettings } from '../host/settings.ts';
import { privilegedPorts } from '../machines/confinement/privileged-ports.ts';
import { freshProcessCgroup, processesInstance, serviceLimits } from '../machines/confinement/process-cgroup.ts';
import { explainUnreadableCode } from '../machines/confinement/readable-code.ts';
import { hostConfinement, serviceConfinement, type UserIds } from '../machines/confinement/spec.ts';
import { startConfined } from '../machines/confinement/start-confined.ts';
import { findUser, serviceUserName } from '../machines/confinement/system-user.ts';
import { copyTlsFiles } from '../machines/confinement/tls-copy.ts';
import type { QemuDriverOptions } from '../machines/qemu/driver.ts';
import { detectCgroups } from '../machines/qemu/jail/cgroup-layout.ts';
import { Cgroups } from '../machines/qemu/jail/cgroups.ts';
import { ProcessKiller } from '../machines/qemu/jail/process-killer.ts';
import { checkNetworkSupport } from '../machines/qemu/network/check-support.ts';
import { instanceOf } from '../machines/qemu/owners/owner-records.ts';
import { runStep } from '../machines/qemu/steps.ts';
import { openLog } from '../process/log.ts';
import { ignoreClosedTerminal, watchStopSignals } from '../process/stop-signals.ts';
import { splitDataFolder } from './data-layout.ts';
import { SupervisedProcess } from './supervised-process.ts';

/** What set-up built: everything that is needed to run machines. */
export type PreparedMachines = Pick<QemuDriverOptions, 'engine' | 'templates' | 'tools'> & {
  /** When the guest's kernel and image were built, the older of the two. */
  readonly guestBuiltAtMs?: number;
};

/** What the service is started for: to serve, or to destroy every sandbox and end. */
export type ServiceTask = 'serve' | 'destroy';

const checkout = join(import.meta.dirname, '../../../..');
const nodeOptions = ['--disable-warning=ExperimentalWarning'];

/** Everything that is known before the processes are started. */
interface Plan {
  readonly config: Config;
  readonly machines: PreparedMachines;
  readonly user: UserIds;
  readonly task: ServiceTask;
  readonly log: Log;
}

/**
 * Runs the host process and the service, and starts each of them again when it ends, until SIGINT, SIGTERM or SIGHUP, or until one of them says
 * that it cannot start. Returns the exit code. Running sandboxes stay alive; the next start adopts them.
 */
export async function supervise(machines: PreparedMachines, task: ServiceTask = 'serve'): Promise<number> {
  const stopRequested = watchStopSignals();
  ignoreClosedTerminal();
  try {
    const config = readConfig();
    const log = openLog(config);
    const problems = await checkNetworkSupport();
    if (problems.length > 0) throw new StartError(describeHostProblems(problems));
    protectFromOutOfMemory(log);
    watchGuestAge(machines.guestBuiltAtMs, log);
    const plan: Plan = { config, machines, user: await findServiceUser(), task, log };
    return await runProcesses(plan, stopRequested);
  } catch (error) {
    reportFailedStart(error);
    return 1;
  }
}

async function findServiceUser(): Promise<UserIds> {
  const user = await findUser(serviceUserName);
  if (user === undefined) {
    throw new StartError(
      `This host has no user ${serviceUserName}. Run npm start as root: its set-up creates the user.`,
    );
  }
  const problem = await explainUnreadableCode({ checkout, nodePath: process.execPath }, user);
  if (problem !== undefined) throw new StartError(problem);
  return user;
}

async function runProcesses(plan: Plan, stopRequested: Promise<void>): Promise<number> {
  const { config, machines, user, task, log } = plan;
  const { dataDir } = config;
  const { jailPath } = machines.tools;
  const cgroups = new Cgroups(await detectCgroups(), processesInstance, {
    killer: new ProcessKiller(jailPath),
    step: runStep,
  });
  const group = `service-${instanceOf(dataDir)}`;
  const folders = prepareFolder(dataDir, user);
  await using acquired = new AsyncDisposableStack();
  acquired.defer(() => cgroups.remove(group));
  const tls =
    config.tlsFiles &&
    acquired.use(await copyTlsFiles(config.tlsFiles, { folder: join(folders.runDir, 'tls'), gid: user.gid, log }));
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const common = { nodePath: process.execPath, checkout };

  const host = new SupervisedProcess({
    name: 'host',
    log,
    say,
    start: async () => {
      const argv = [...nodeOptions, join(checkout, 'packages/server/src/host/main.ts')];
      const spec = hostConfinement({ ...common, argv, cgroupProcs: [], env: process.env });
      return startConfined(jailPath, spec, { stdin: JSON.stringify(hostSettings(plan)) });
    },
  });
  const service = new SupervisedProcess({
    name: 'service',
    log,
    say,
    endsByItself: task === 'destroy',
    start: async () => {
      const spec = serviceConfinement({
        ...common,
        ...folders,
        arch: machines.engine.arch,
        user,
        argv: [...nodeOptions, join(checkout, 'packages/server/src/app/main.ts'), task],
        cgroupProcs: await freshProcessCgroup(cgroups, group, serviceLimits()),
        listen: task === 'serve' ? await privilegedPorts(wantedPorts(config)) : [],
        env: serviceSettings(plan, folders.serviceDir, tls?.paths),
      });
      return startConfined(jailPath, spec);
    },
  });
  // A second signal ends this process at once; nothing of it may stay.
  process.on('exit', () => {
    service.kill();
    host.kill();
  });

  const code = await Promise.race([stopRequested.then(() => 0), host.ended, service.ended]);
  await service.stop();
  await host.stop();
  return code;
}

/** Splits the data folder while nobody uses it. The host process locks it afterwards. */
function prepareFolder(dataDir: string, user: UserIds): ReturnType<typeof splitDataFolder> {
  using _lock = lockFolder(dataDir, { closed: true });
  return splitDataFolder(dataDir, user);
}

function hostSettings({ config, machines, user }: Plan): HostSettings {
  const { engine, templates, tools } = machines;
  return {
    dataDir: config.dataDir,
    serviceGid: user.gid,
    logLevel: config.logLevel,
    engine,
    templates,
    tools,
    ...machineLimits(config),
    ...(config.maxMachines !== undefined && { maxMachines: config.maxMachines }),
    refusedRanges: [...config.egressRefuse],
  };
}

/** The operator's settings, with the folders and files as the service sees them. */
function serviceSettings(
  { config }: Plan,
  serviceDir: string,
  tls: { readonly certFile: string; readonly keyFile: string } | undefined,
): NodeJS.ProcessEnv {
  const files = tls && { MAYFLY_TLS_CERT: tls.certFile, MAYFLY_TLS_KEY: tls.keyFile };
  return { ...process.env, ...files, MAYFLY_DATA_DIR: serviceDir, MAYFLY_CACHE_DIR: config.cacheDir };
}

function wantedPorts({ host, port, previewHost, previewPort }: Config) {
  return [
    { name: 'api', host, port },
    { name: 'previews', host: previewHost, port: previewPort },
  ] as const;
}
