import { rm } from 'node:fs/promises';
import { readConfig } from '../app/config.ts';
import { lockFolder, supervisorsLock } from '../app/data-folder.ts';
import { describeUntrusted, trustedIds } from '../app/trusted-folder.ts';
import { explainUnreadableCode } from '../confinement/readable-code.ts';
import type { ServiceFolders, UserIds } from '../confinement/spec.ts';
import { findUser, serviceUserName } from '../confinement/system-user.ts';
import { copyTlsFiles, TlsFileError } from '../confinement/tls-copy.ts';
import { hostSocketPath } from '../machines/protocol/run-folder.ts';
import { describeHostProblems } from '../machines/qemu/check-host.ts';
import { checkNetworkSupport } from '../machines/qemu/network/check-support.ts';
import { openLog } from '../process/log.ts';
import { reportFailedStart, StartFailure } from '../process/start-failure.ts';
import { ignoreClosedTerminal, watchStopSignals } from '../process/stop-signals.ts';
import { refuseLongPath, splitDataFolder } from './data-layout.ts';
import { watchGuestAge } from './guest-age.ts';
import { protectFromOutOfMemory } from './oom-protection.ts';
import { checkout, type Plan, type PreparedMachines, ServiceStarter, startHost, type Task } from './processes.ts';
import { SupervisedProcess } from './supervised-process.ts';
import { notifySystemd } from './systemd-notify.ts';

/**
 * Runs the host process and the service, and starts each of them again when it ends, until SIGINT, SIGTERM or SIGHUP, or until one of them says
 * that it cannot start. Returns the exit code. Running sandboxes stay alive; the next start adopts them.
 */
export async function supervise(machines: PreparedMachines, task: Task = 'serve'): Promise<number> {
  const stopRequested = watchStopSignals();
  ignoreClosedTerminal();
  try {
    const config = readConfig();
    refuseLongPath(config.dataDir);
    refuseUntrustedFolder(config.dataDir);
    const log = openLog(config);
    const problems = await checkNetworkSupport();
    if (problems.length > 0) throw new StartFailure(describeHostProblems(problems));
    protectFromOutOfMemory(log);
    watchGuestAge(machines.guestBuiltAtMs, log);
    return await runProcesses({ config, machines, user: await findServiceUser(), task, log }, stopRequested);
  } catch (error) {
    reportFailedStart(error);
    return 1;
  }
}

async function findServiceUser(): Promise<UserIds> {
  const user = await findUser(serviceUserName);
  if (user === undefined) {
    throw new StartFailure(
      `This host has no user ${serviceUserName}. Run npm start as root: its set-up creates the user.`,
    );
  }
  const problem = await explainUnreadableCode({ checkout, nodePath: process.execPath }, user);
  if (problem !== undefined) throw new StartFailure(problem);
  return user;
}

async function runProcesses(plan: Plan, stopRequested: Promise<void>): Promise<number> {
  const { config, task, log } = plan;
  await using acquired = new AsyncDisposableStack();
  acquired.use(lockFolder(config.dataDir, { closed: true, name: supervisorsLock }));
  const starter = task === 'host' ? undefined : await ServiceStarter.open(plan);
  const folders = await prepareFolder(plan, starter);
  if (task !== 'destroy') acquired.use(await provideTlsFiles(plan, folders));
  const say = (line: string): void => void process.stdout.write(`${line}\n`);
  const processes = [new SupervisedProcess({ name: 'host', start: () => startHost(plan), log, say })];
  if (starter) {
    acquired.use(starter);
    const endsByItself = task === 'destroy';
    // First, because it is stopped first.
    processes.unshift(new SupervisedProcess({ name: 'service', start: () => starter.start(), endsByItself, log, say }));
  }
  // A second signal ends this process at once; nothing of it may stay.
  process.on('exit', () => {
    for (const supervised of processes) supervised.kill();
  });
  const stopped = new AbortController();
  void notifySystemd(hostSocketPath(folders.runDir), stopped.signal, log);
  const code = await Promise.race([stopRequested.then(() => 0), ...processes.map(({ ended }) => ended)]);
  stopped.abort();
  // First, so that new connections are refused as soon as the service no longer accepts them.
  await starter?.releasePorts();
  for (const supervised of processes) await supervised.stop();
  return code;
}

/** Root trusts what it finds in the data folder: its locks, and records of machines. */
function refuseUntrustedFolder(dataDir: string): void {
  const problem = describeUntrusted(dataDir, trustedIds(process.env));
  if (problem === undefined) return;
  throw new StartFailure(
    `The data folder ${dataDir} is not safe from other users: ${problem}. Make it root's and close it to others (chown root:root, chmod go-w), or set MAYFLY_DATA_DIR to another folder.`,
  );
}

/**
 * Splits the data folder while nobody uses it: neither a host process, which locks it afterwards, nor a service that outlived its supervisor. Under
 * systemd a service may be running; it owns its part of the folder already.
 */
async function prepareFolder({ config, user }: Plan, starter: ServiceStarter | undefined): Promise<ServiceFolders> {
  using _lock = lockFolder(config.dataDir, { closed: true });
  await starter?.endEarlier();
  return await splitDataFolder(config.dataDir, user);
}

/** Keeps copies of the operator's certificate and key where the service can read them, and none if the settings name none. */
async function provideTlsFiles({ config, user, log }: Plan, { tlsDir }: ServiceFolders): Promise<AsyncDisposable> {
  if (!config.tlsFiles) {
    await rm(tlsDir, { recursive: true, force: true });
    return new AsyncDisposableStack();
  }
  try {
    return await copyTlsFiles(config.tlsFiles, { folder: tlsDir, gid: user.gid, log });
  } catch (cause) {
    throw cause instanceof TlsFileError ? new StartFailure(cause.message, { cause }) : cause;
  }
}
