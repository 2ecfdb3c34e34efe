import { join } from 'node:path';
import { serviceFolderName } from '@mayfly/contract/admin';
import { runFolderOf } from '../machines/protocol/run-folder.ts';
import type { Arch } from '../machines/qemu/engine.ts';
import { hostCapabilities } from '../machines/qemu/host-capabilities.ts';
import { type Bind, outerFirst } from '../machines/qemu/jail/spec.ts';
import type { ListeningPort } from './listening-ports.ts';
import { type ServiceFiles, serviceBinds, serviceEnvironment } from './service-view.ts';

/** The JSON document that `mayfly-jail confine` reads: how one of Mayfly's own processes runs. `native/jail/confinement.go` documents the fields. */
export interface ConfinementSpec {
  readonly kind: 'service' | 'host';
  readonly uid?: number;
  readonly gid?: number;
  readonly capabilities?: readonly string[];
  readonly binds?: readonly Bind[];
  readonly tmpBytes?: number;
  readonly listen?: readonly ListeningPort[];
  readonly handOut?: string;
  readonly listenFrom?: string;
  readonly cgroupProcs: readonly string[];
  readonly oomScoreAdj: number;
  readonly rlimits: Readonly<Record<string, number>>;
  readonly endWithParent: boolean;
  readonly program: string;
  readonly argv: readonly string[];
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** A user that Mayfly's processes run as. */
export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

interface ProcessPlan {
  /** The absolute path of Node. */
  readonly nodePath: string;
  /** Node's own options, the entry module and its arguments. */
  readonly argv: readonly string[];
  /** The checkout that the code is in. */
  readonly checkout: string;
  /** The cgroup.procs files of the groups that it joins. */
  readonly cgroupProcs: readonly string[];
  /** The environment to take the process's own from. */
  readonly env: NodeJS.ProcessEnv;
}

export interface ServicePlan extends ProcessPlan, Omit<ServiceFiles, 'env'> {
  readonly arch: Arch;
  readonly user: UserIds;
  /** The socket of a process that holds its ports; without one it opens them itself. */
  readonly listenFrom?: string | undefined;
}

/** The gateway alone serves up to 8,192 visitors, each with a connection to a sandbox's tunnel at most. */
export const maxOpenFiles = 65_536;

/** SQLite's temporary files are in the data folder: this is for what else a library may want to write. */
const tmpBytes = 64 * 1024 ** 2;

/** A folder that does not exist: programs and libraries read settings in a home folder, so it must be none that the service can write. */
const nowhere = '/nonexistent';

/** The kernel kills the service before the host process, and nearly everything else before the service. */
export const oomScores = { service: -900, host: -999 } as const;

/**
 * The service without any privilege: its user, no capability, a filter of system calls, and of the file system only its code, its part of the
 * data folder and what name resolution and TLS need.
 */
export function serviceConfinement(plan: ServicePlan): ConfinementSpec {
  return {
    kind: 'service',
    uid: plan.user.uid,
    gid: plan.user.gid,
    binds: outerFirst(serviceBinds(plan)),
    tmpBytes,
    ...(plan.listenFrom !== undefined && { listenFrom: plan.listenFrom }),
    cgroupProcs: plan.cgroupProcs,
    oomScoreAdj: oomScores.service,
    rlimits: { core: 0, memlock: 0, nofile: maxOpenFiles },
    endWithParent: true,
    program: plan.nodePath,
    argv: plan.argv,
    folder: plan.serviceDir,
    env: {
      ...serviceEnvironment(plan.env),
      ...(plan.compiledCodeDir !== undefined && { NODE_COMPILE_CACHE: plan.compiledCodeDir }),
      HOME: nowhere,
      SQLITE_TMPDIR: plan.serviceDir,
    },
  };
}

/** A process that holds the ports of the service. */
export interface HolderPlan {
  readonly jailPath: string;
  readonly user: UserIds;
  readonly ports: readonly ListeningPort[];
  /** Where it hands them out. */
  readonly socketPath: string;
}

/** mayfly-jail itself, confined like the service, with the service's ports open. It sees no file but its program. */
export function holderConfinement({ jailPath, user, ports, socketPath }: HolderPlan): ConfinementSpec {
  return {
    kind: 'service',
    uid: user.uid,
    gid: user.gid,
    binds: [{ path: jailPath, mode: 'exec' }],
    tmpBytes: 1024 ** 2,
    listen: ports,
    handOut: socketPath,
    cgroupProcs: [],
    oomScoreAdj: oomScores.service,
    rlimits: { core: 0, memlock: 0, nofile: 256 },
    endWithParent: true,
    program: jailPath,
    argv: ['hand-out'],
    folder: '/',
    env: {},
  };
}

export interface HostPlan extends ProcessPlan {
  /** Which of root's capabilities it keeps, without "CAP_". */
  readonly capabilities?: readonly string[];
}

/** The names that mayfly-jail accepts. Shells export functions under others, such as BASH_FUNC_which%%. */
const environmentName = /^[A-Za-z_][A-Za-z0-9_]*$/;

/** The driver's process: root, on the whole file system, without the capabilities that it does not use. */
export function hostConfinement(plan: HostPlan): ConfinementSpec {
  const isPassedOn = (entry: [string, string | undefined]): entry is [string, string] =>
    entry[1] !== undefined && environmentName.test(entry[0]);
  const env = Object.entries(plan.env).filter(isPassedOn);
  return {
    kind: 'host',
    capabilities: plan.capabilities ?? Object.keys(hostCapabilities).map((name) => name.toUpperCase()),
    cgroupProcs: plan.cgroupProcs,
    oomScoreAdj: oomScores.host,
    rlimits: { core: 0, nofile: maxOpenFiles },
    endWithParent: true,
    program: plan.nodePath,
    argv: plan.argv,
    folder: plan.checkout,
    env: Object.fromEntries(env),
  };
}

/** The parts of a data folder that the service can reach. */
export interface ServiceFolders {
  /** Its own. */
  readonly serviceDir: string;
  /** The sockets of the host process and of agents. */
  readonly runDir: string;
  /** Copies of the operator's certificate and key. */
  readonly tlsDir: string;
}

export function serviceFolders(dataDir: string): ServiceFolders {
  const runDir = runFolderOf(dataDir);
  return { serviceDir: join(dataDir, serviceFolderName), runDir, tlsDir: join(runDir, 'tls') };
}
