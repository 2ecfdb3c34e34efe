import { execFileSync } from 'node:child_process';
import { existsSync, globSync, readdirSync, statSync } from 'node:fs';
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { readConfig } from '#server/app/config.ts';
import { type ServiceFolders, serviceFolders } from '#server/confinement/spec.ts';
import { startConfined } from '#server/confinement/start-confined.ts';
import { findUser, serviceUserName } from '#server/confinement/system-user.ts';
import { agentSocketsOf, hostSocketPath } from '#server/machines/protocol/run-folder.ts';
import { readProcessIdentity } from '#server/machines/qemu/jail/proc.ts';
import { readMachineRecord } from '#server/machines/qemu/machine-folder.ts';
import { instanceOf } from '#server/machines/qemu/owners/owner-records.ts';
import { openLog } from '#server/process/log.ts';
import { ServiceStarter } from '#server/supervisor/processes.ts';
import { exitCodeOf } from '#server-test/confinement/confined.ts';
import { copyProbe, forbiddenAttempts, type ProbeTargets, runProbe } from '#server-test/confinement/probe.ts';
import type { FloodReport, FloodTask } from '#server-test/host-process/flood-host.ts';
import { messageCounts } from '#server-test/host-process/hostile-messages.ts';
import { createSandbox, deleteSandbox, exec, output, type SandboxBody } from '../support/api-requests.ts';
import { leftovers, unexpectedResources } from '../support/chaos/held-resources.ts';
import { hostState, leftSince } from '../support/host-state.ts';
import { length } from '../support/length.ts';
import { machinePids, signalProcess } from '../support/machine-processes.ts';
import { preparedHost } from '../support/prepared-host.ts';
import { takePeakBytes } from '../support/process-memory.ts';
import { type ServiceProcess, useServiceProcesses } from '../support/service-process.ts';
import { freePort, type ServiceData, unlimitedRates } from '../support/service-settings.ts';
import { deleteSnapshot, type SnapshotBody, takeSnapshot } from '../support/snapshots.ts';
import { childrenOf, commandOf } from '../support/supervised-processes.ts';

const { short, fullOnMachines } = messageCounts;
const count = Number(process.env.MAYFLY_FUZZ_HOST_MESSAGES ?? length(short, fullOnMachines));
const seed = Number(process.env.MAYFLY_FUZZ_SEED ?? 1) || Date.now() % 2 ** 31;

/** Close to what a host takes of each kind in a second, so that the messages take as little time as its limits allow. */
const shares = { reading: 940, changing: 48, violating: 12 };
/** Ids of machines that are files in every group of cgroup version 1. */
const controlFileNames = ['tasks', 'notify_on_release'];
const silentConnections = 200;
const mostHostGrowthMib = 256;

/** A data folder with its service, a sandbox and a snapshot of it. */
interface Side extends ServiceFolders {
  readonly data: ServiceData;
  readonly service: ServiceProcess;
  readonly sandbox: SandboxBody;
  readonly snapshot: SnapshotBody;
}

const processes = useServiceProcesses();
let before: string;
/** The data folder whose service is taken over. */
let own: Side;
/** Another data folder on the same host. */
let other: Side;
let starter: ServiceStarter;
let untouched: unknown;
let hostPid: number;
let probeFolder: string;

beforeAll(async () => {
  probeFolder = await mkdtemp(join(tmpdir(), 'mayfly-probe-'));
  await chmod(probeFolder, 0o711);
  before = await hostState();
  [own, other] = await Promise.all([startSide(), startSide()]);
  untouched = await stateOfInnocents();
  hostPid = own.service.processes.host ?? 0;
  await takeOver();
});
afterAll(async () => {
  // If a test failed while it was stopped.
  signalSupervisor('SIGCONT');
  await rm(probeFolder, { recursive: true, force: true });
});

async function startSide(): Promise<Side> {
  const data = await processes.newData();
  // The messages fill the log with what was refused.
  const settings = { MAYFLY_PORT: `${await freePort()}`, MAYFLY_MAX_MACHINES: '5', MAYFLY_LOG_LEVEL: 'fatal' };
  const service = await processes.start(data, { ...unlimitedRates, ...settings });
  const sandbox = await createSandbox(service);
  await output(service, sandbox.id, 'echo kept > /workspace/mark');
  const snapshot = await takeSnapshot(service, sandbox.id);
  return { data, service, sandbox, snapshot, ...serviceFolders(data.dataDir) };
}

/** Ends the service of the own data folder, and keeps its supervisor from starting another one. */
async function takeOver(): Promise<void> {
  const { settings } = own.data;
  const config = readConfig({ ...process.env, ...settings, MAYFLY_PORT: '0', MAYFLY_PREVIEW_PORT: '0' });
  const user = await findUser(serviceUserName);
  if (user === undefined) throw new Error('set-up has not created the user of the service');
  const plan = { config, machines: preparedHost(), user, task: 'serve', log: openLog(config) } as const;
  starter = await ServiceStarter.open(plan);
  const { service } = own.service.processes;
  signalSupervisor('SIGSTOP');
  if (service === undefined || !signalProcess(service, 'SIGKILL')) throw new Error('the service does not run');
}

function signalSupervisor(signal: NodeJS.Signals): void {
  const pid = own?.service.child.pid;
  if (pid !== undefined) signalProcess(pid, signal);
}

/** The processes, rules and snapshots that nobody asked to change. */
async function stateOfInnocents() {
  return await Promise.all(
    [own, other].map(async ({ data, sandbox, snapshot }) => {
      const pid = (await machinePids(data.dataDir)).get(sandbox.id) ?? 0;
      const record = await readMachineRecord(join(data.dataDir, 'machines', sandbox.id, 'machine.json'));
      const network = `/run/netns/mayfly-${record?.lease.slot}`;
      const rules = execFileSync('nsenter', [`--net=${network}`, 'nft', '-s', 'list', 'ruleset'], { encoding: 'utf8' });
      expect(rules).toContain('table');
      const saved = filesOf(join(data.dataDir, 'snapshots', snapshot.id));
      expect(saved.length).toBeGreaterThan(0);
      return { process: readProcessIdentity(pid), network, rules, saved };
    }),
  );
}

/** The names, sizes and last changes of the files in a folder. */
function filesOf(folder: string): readonly string[] {
  return readdirSync(folder)
    .toSorted()
    .map((name) => [name, ...Object.values(changeOf(join(folder, name)))].join(' '));
}

function changeOf(path: string) {
  const { size, ino, mtimeMs } = statSync(path);
  return { size, ino, mtimeMs };
}

async function targets(): Promise<ProbeTargets> {
  const { templates, compiledCodeDir } = preparedHost();
  if (compiledCodeDir === undefined) throw new Error('set-up has compiled no code');
  const machineOf = ({ data, sandbox }: Side) => join(data.dataDir, 'machines', sandbox.id);
  const savedBy = ({ data, snapshot }: Side) => join(data.dataDir, 'snapshots', snapshot.id);
  const savedFile = (side: Side, kind: string) => globSync(join(savedBy(side), `${kind}.*`))[0] ?? '';
  const qemuOf = async ({ data, sandbox }: Side) => (await machinePids(data.dataDir)).get(sandbox.id);
  const cgroupOf = ({ data, sandbox }: Side) =>
    globSync(`/sys/fs/cgroup/{,*/}mayfly/${instanceOf(data.dataDir)}/${sandbox.id}/cgroup.procs`)[0] ?? '';
  const broker = childrenOf(hostPid).find((pid) => commandOf(pid).includes('-resolv-conf'));
  const agent = agentSocketsOf(other.runDir, other.sandbox.id);
  const [ownQemu, otherQemu] = [await qemuOf(own), await qemuOf(other)];
  return {
    read: {
      "its own machine's disk": join(machineOf(own), 'disk.qcow2'),
      "its own machine's record": join(machineOf(own), 'machine.json'),
      "its own machine's log": join(machineOf(own), 'qemu.log'),
      'the memory of its own machine': `/proc/${ownQemu}/mem`,
      "another data folder's disk": join(machineOf(other), 'disk.qcow2'),
      "the memory of another data folder's machine": `/proc/${otherQemu}/mem`,
      "its own snapshot's memory": savedFile(own, 'ram'),
      "another data folder's snapshot": savedBy(other),
      "the memory of another data folder's snapshot": savedFile(other, 'ram'),
      "the disk of another data folder's snapshot": savedFile(other, 'disk'),
      "the manifest of another data folder's snapshot": join(savedBy(other), 'snapshot.json'),
      'the folder of its own machines': join(own.data.dataDir, 'machines'),
      'the lock of its own data folder': join(own.data.dataDir, 'lock'),
      'another data folder': other.data.dataDir,
      "another data folder's database": join(other.serviceDir, 'mayfly.db'),
      "another data folder's authority": join(other.serviceDir, 'preview-authority/root.key'),
      "a template's memory": templates.small.ramPath,
      "a template's state": templates.small.statePath,
      "a template's disk": templates.small.diskPath,
      'the image': templates.small.manifest.basePath,
      'a folder of the cache': dirname(templates.small.ramPath),
      "the host process's environment": `/proc/${hostPid}/environ`,
      'user id leases': '/run/mayfly',
    },
    write: {
      "its own machine's disk": join(machineOf(own), 'disk.qcow2'),
      "another data folder's disk": join(machineOf(other), 'disk.qcow2'),
      "another data folder's database": join(other.serviceDir, 'mayfly.db'),
      "its own snapshot's memory": savedFile(own, 'ram'),
      "the memory of another data folder's snapshot": savedFile(other, 'ram'),
      "the manifest of another data folder's snapshot": join(savedBy(other), 'snapshot.json'),
      "another data folder's snapshots": join(other.data.dataDir, 'snapshots', 'snap_new'),
      "a template's memory": templates.small.ramPath,
      "its own machine's cgroup": cgroupOf(own),
      "another machine's cgroup": cgroupOf(other),
      'the folder of sockets': join(own.runDir, 'new'),
      'the folder of agents': join(own.runDir, 'agents/new'),
      'its own code': join(import.meta.dirname, '../../packages/server/package.json'),
      'its own code, compiled': join(compiledCodeDir, 'planted'),
    },
    connect: {
      "its own machine's monitor": join(machineOf(own), 'qmp'),
      "another data folder's monitor": join(machineOf(other), 'qmp'),
      "another data folder's host process": hostSocketPath(other.runDir),
      "another data folder's agent (control)": agent.control,
      "another data folder's agent (data)": agent.data,
      "another data folder's admin socket": join(other.serviceDir, 'admin.sock'),
    },
    processes: {
      'its own QEMU': ownQemu,
      'another QEMU': otherQemu,
      'its host process': hostPid,
      'its supervisor': own.service.child.pid,
      'the broker': broker,
      'the resolver': childrenOf(broker ?? 0)[0],
      'another host process': other.service.processes.host,
      'another service': other.service.processes.service,
    },
    allowed: { folder: own.serviceDir, socket: hostSocketPath(own.runDir) },
  };
}

describe('a program in place of the service, started exactly as the service is', () => {
  it('is refused machines, snapshots, templates, files of root, devices, the network, cgroups, processes and another data folder', async () => {
    const given = await targets();
    // All of it exists, so it is refused and not missing.
    expect(Object.entries(given.processes).filter(([, pid]) => readProcessIdentity(pid ?? 0) === undefined)).toEqual(
      [],
    );
    const paths = [...Object.values(given.read), ...Object.values(given.connect)];
    expect(paths.filter((path) => !existsSync(path))).toEqual([]);
    const { jailPath } = preparedHost().tools;
    const attempts = await runProbe(jailPath, await starter.prepare(), await copyProbe(probeFolder), given);
    const needed = attempts.filter(({ mustWork }) => mustWork);
    expect(needed.filter(({ refused }) => refused)).toEqual([]);
    const forbidden = forbiddenAttempts(attempts);
    const named = [given.read, given.write, given.connect, given.processes].flatMap((part) => Object.keys(part));
    expect(named.filter((name) => !forbidden.some(({ attempt }) => attempt.includes(name)))).toEqual([]);
    const lines = forbidden.map(({ attempt, detail }) => `  ${attempt}: ${detail}`);
    console.log(`${forbidden.length} attempts beside real machines, all refused:\n${lines.join('\n')}`);
    expect(forbidden.filter(({ refused }) => !refused)).toEqual([]);
    expect(await stateOfInnocents()).toEqual(untouched);
  });

  it(`sends ${count} hostile messages to its host process, which refuses them and stays, beside a sandbox that keeps working`, async () => {
    const hostIdentity = readProcessIdentity(hostPid);
    await takePeakBytes(hostPid);
    const beforeMib = (await takePeakBytes(hostPid)) / 1024 ** 2;
    const attack = flood();
    const innocent = await useUntil(attack);
    const { sent, answers, seconds, silent } = await attack;
    const afterMib = (await takePeakBytes(hostPid)) / 1024 ** 2;
    console.log(
      `${count} messages (seed ${seed}) in ${seconds.toFixed(0)} s: ${JSON.stringify(sent)}; answers: ${JSON.stringify(answers)}; ` +
        `${silentConnections} silent connections: ${JSON.stringify(silent)}; host process ${beforeMib.toFixed(0)} MiB before, ` +
        `at most ${afterMib.toFixed(0)} MiB; another data folder meanwhile: ${JSON.stringify(innocent)}`,
    );
    expect(Object.values(sent).reduce((sum, each) => sum + each, 0)).toBe(count);
    expect(answers.unknown_machine).toBeGreaterThan(0);
    expect(own.service.processes.host).toBe(hostPid);
    expect(readProcessIdentity(hostPid)).toEqual(hostIdentity);
    expect(afterMib - beforeMib).toBeLessThan(mostHostGrowthMib);
    expect(await stateOfInnocents()).toEqual(untouched);
  });

  it('leaves a host process that serves the real service again, and nothing else', async () => {
    await starter[Symbol.asyncDispose]();
    signalSupervisor('SIGCONT');
    await expect.poll(() => isReady(own.service)).toBe(true);
    const marks = [own, other].map(({ service, sandbox }) => output(service, sandbox.id, 'cat /workspace/mark'));
    expect(await Promise.all(marks)).toEqual(['kept', 'kept']);
    expect(await stateOfInnocents()).toEqual(untouched);
    expect(own.service.processes.host).toBe(hostPid);
    const [created, copy] = await Promise.all([copyOf(own), copyOf(other)]);
    await deleteSandbox(other.service, copy.id);
    expect(await unexpectedResources(own.data.dataDir, [own.sandbox.id, created.id], 0)).toEqual([]);
    expect(await unexpectedResources(other.data.dataDir, [other.sandbox.id], 0)).toEqual([]);
    await Promise.all([own, other].map(({ service, snapshot }) => deleteSnapshot(service, snapshot.id)));
    for (const { data } of [own, other]) {
      // What the messages saved is in no record, so the service removes it.
      await expect.poll(() => readdirSync(join(data.dataDir, 'snapshots'))).toEqual([]);
    }
    await Promise.all([own.service.destroy(), other.service.destroy()]);
    for (const { data } of [own, other]) expect(await leftovers(data.dataDir)).toEqual([]);
    expect(await leftSince(before)).toEqual([]);
  });
});

/** Creates a sandbox from the snapshot of a data folder, which has what was written before it was taken. */
async function copyOf({ service, snapshot }: Side): Promise<SandboxBody> {
  const copy = await createSandbox(service, { snapshot_id: snapshot.id });
  expect(await output(service, copy.id, 'cat /workspace/mark')).toBe('kept');
  return copy;
}

/** Runs the sender of hostile messages in place of the service. */
async function flood(): Promise<FloodReport> {
  const task: FloodTask = {
    runDir: own.runDir,
    count,
    seed,
    shares,
    silentConnections,
    foreignIds: [other.sandbox.id, other.snapshot.id, ...controlFileNames],
  };
  const script = join(import.meta.dirname, '../../packages/server/test/host-process/flood-host.ts');
  const argv = ['--disable-warning=ExperimentalWarning', script, JSON.stringify(task)];
  const { jailPath } = preparedHost().tools;
  const child = startConfined(jailPath, { ...(await starter.prepare()), argv }, { stdout: 'pipe' });
  const report = child.stdout ? await text(child.stdout) : '';
  expect(await exitCodeOf(child)).toBe(0);
  return JSON.parse(report) as FloodReport;
}

/** Runs commands and creates sandboxes in the other data folder until something has ended. Each must succeed. */
async function useUntil(end: Promise<unknown>) {
  let isOver = false;
  const ended = end
    .catch(() => {})
    .then(() => {
      isOver = true;
    });
  const durationsMs: number[] = [];
  let creates = 0;
  do {
    const startedMs = performance.now();
    expect((await exec(other.service, other.sandbox.id, 'true')).exit_code).toBe(0);
    durationsMs.push(performance.now() - startedMs);
    if (durationsMs.length % 50 === 1) {
      const { id } = await createSandbox(other.service);
      expect((await exec(other.service, id, 'true')).exit_code).toBe(0);
      await deleteSandbox(other.service, id);
      creates += 1;
    }
  } while (!isOver);
  await ended;
  const sorted = durationsMs.toSorted((a, b) => a - b);
  return {
    commands: sorted.length,
    creates,
    medianMs: Math.round(sorted[Math.floor(sorted.length / 2)] ?? 0),
    longestMs: Math.round(sorted.at(-1) ?? 0),
  };
}

async function isReady({ url }: ServiceProcess): Promise<boolean> {
  return await fetch(`${url}/healthz`).then(
    ({ ok }) => ok,
    () => false,
  );
}
