import { isIPv6 } from 'node:net';
import type { ListeningPort } from '@mayfly/server/confinement';

/** What the units of one installation need to know. All paths are absolute and contain nothing that systemd would interpret. */
export interface UnitPlan {
  readonly checkout: string;
  /** The project's own Node.js. */
  readonly nodePath: string;
  readonly dataDir: string;
  readonly cacheDir: string;
  /** Locks and records of running machines, which the service must not see. */
  readonly stateDir: string;
  /** The operator's settings, one MAYFLY_… per line. It may be missing. */
  readonly environmentFile: string;
  /** Where set-up looks for npm and its other programs. */
  readonly programFolders: readonly string[];
  /** Which of root's capabilities the host process keeps, without "CAP_". */
  readonly hostCapabilities: readonly string[];
  /** How much memory the service may use. */
  readonly serviceMemoryBytes: number;
  /** The ports of the service, which systemd opens. */
  readonly ports: readonly ListeningPort[];
}

export const hostUnitName = 'mayfly-host.service';
export const serviceUnitName = 'mayfly.service';
const socketUnitName = (name: ListeningPort['name']) => `mayfly-${name}.socket`;

/** Every unit that an installation may have, in the order in which they are stopped. */
export const unitNames: readonly string[] = [
  serviceUnitName,
  socketUnitName('api'),
  socketUnitName('previews'),
  hostUnitName,
];

/** The units of an installation, by name. */
export function unitFiles(plan: UnitPlan): ReadonlyMap<string, string> {
  return new Map([
    [hostUnitName, hostUnit(plan)],
    [serviceUnitName, serviceUnit(plan)],
    ...portNames(plan).map((name): [string, string] => [socketUnitName(name), socketUnit(plan, name)]),
  ]);
}

function portNames({ ports }: UnitPlan): readonly ListeningPort['name'][] {
  return [...new Set(ports.map(({ name }) => name))];
}

type Directive = readonly [name: string, value: string | number];

const yes = 'yes';

const nodeOption = '--disable-warning=ExperimentalWarning';

/** Another attempt may help after every failure: at boot, a database or an address may come later. */
const restarts: readonly Directive[] = [
  ['Restart', 'always'],
  ['RestartSec', 5],
];

/**
 * The host process and its supervisor: root, with the capabilities that they use. Nothing in this unit may give them a mount namespace of their own: the
 * host process mounts network namespaces that the next start has to find.
 */
function hostUnit(plan: UnitPlan): string {
  const { checkout, nodePath, dataDir, cacheDir, environmentFile, programFolders, hostCapabilities } = plan;
  return unitFile({
    Unit: [
      ['Description', 'Mayfly: virtual machines'],
      ['After', 'network-online.target nftables.service'],
      ['Wants', 'network-online.target'],
      ['RequiresMountsFor', `${checkout} ${dataDir} ${cacheDir}`],
      ['StartLimitIntervalSec', 0],
    ],
    Service: [
      // It is started once the service's folders exist and the host process listens.
      ['Type', 'notify'],
      ['NotifyAccess', 'main'],
      ['WorkingDirectory', checkout],
      ['Environment', `PATH=${programFolders.join(':')}`],
      ['EnvironmentFile', `-${environmentFile}`],
      // Installs and builds what an upgrade changed. With all of root's rights (+), because Debian's packages need them.
      ['ExecStartPre', `+${nodePath} ${checkout}/bootstrap.mjs prepare`],
      ['ExecStart', `${nodePath} ${nodeOption} ${checkout}/packages/setup/src/main.ts host`],
      // Only the supervisor is signalled: sandboxes keep running, and the next start adopts them.
      ['KillMode', 'process'],
      ['OOMPolicy', 'continue'],
      ['TimeoutStartSec', '45min'],
      ['TimeoutStopSec', 90],
      ...restarts,
      ['OOMScoreAdjust', -999],
      ['LimitNOFILE', 65_536],
      // No UMask: the service's user has to read what npm installs.
      ['NoNewPrivileges', yes],
      ['CapabilityBoundingSet', hostCapabilities.map((name) => `CAP_${name}`).join(' ')],
      ['RestrictAddressFamilies', 'AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET'],
      ['RestrictRealtime', yes],
      ['RestrictSUIDSGID', yes],
      ['LockPersonality', yes],
      ['SystemCallArchitectures', 'native'],
      // Machines inherit it. What it names changes the kernel, the clock or the hardware.
      ['SystemCallFilter', '~@clock @cpu-emulation @debug @module @obsolete @raw-io @reboot @swap'],
      ['SystemCallErrorNumber', 'EPERM'],
      ['KeyringMode', 'private'],
    ],
    Install: [['WantedBy', 'multi-user.target']],
  });
}

/** The service: its own user, no capability, and of the file system only what it needs. */
function serviceUnit(plan: UnitPlan): string {
  const { checkout, nodePath, dataDir, cacheDir, stateDir, environmentFile, serviceMemoryBytes } = plan;
  const module = `${checkout}/packages/server/src/app/main.ts`;
  return unitFile({
    Unit: [
      ['Description', 'Mayfly: API and previews'],
      ['After', `network-online.target postgresql.service ${hostUnitName}`],
      ['Wants', `network-online.target ${hostUnitName}`],
      ['RequiresMountsFor', `${checkout} ${dataDir}`],
      ['StartLimitIntervalSec', 0],
    ],
    Service: [
      ['Type', 'exec'],
      ['User', 'mayfly'],
      ['Group', 'mayfly'],
      ...portNames(plan).map((name): Directive => ['Sockets', socketUnitName(name)]),
      ['WorkingDirectory', `${dataDir}/service`],
      ['Environment', `HOME=/nonexistent SQLITE_TMPDIR=${dataDir}/service`],
      ['EnvironmentFile', `-${environmentFile}`],
      ['ExecStart', `${nodePath} ${nodeOption} ${module}`],
      ['TimeoutStopSec', 60],
      ...restarts,
      ['OOMScoreAdjust', -900],
      ['LimitNOFILE', 65_536],
      ['LimitCORE', 0],
      ['TasksMax', 128],
      ['MemoryMax', serviceMemoryBytes],
      ['UMask', '0077'],
      ['NoNewPrivileges', yes],
      ['CapabilityBoundingSet', ''],
      ['AmbientCapabilities', ''],
      ['ProtectSystem', 'strict'],
      ['ProtectHome', 'tmpfs'],
      // The data folder belongs to root alone. Here it is an empty folder with the two parts that are the service's.
      ['TemporaryFileSystem', `${dataDir}:ro`],
      ['BindPaths', `${dataDir}/service`],
      ['BindReadOnlyPaths', `${checkout} ${dataDir}/run`],
      ['InaccessiblePaths', `-${cacheDir} -${stateDir}`],
      // Nothing can be run but Node, which loads the system's libraries.
      ['NoExecPaths', '/'],
      ['ExecPaths', `${nodePath} /usr/lib -/usr/lib64 -/lib -/lib64`],
      ['PrivateTmp', yes],
      ['PrivateDevices', yes],
      ['PrivateIPC', yes],
      ['ProtectProc', 'invisible'],
      ['ProtectClock', yes],
      ['ProtectControlGroups', yes],
      ['ProtectHostname', yes],
      ['ProtectKernelLogs', yes],
      ['ProtectKernelModules', yes],
      ['ProtectKernelTunables', yes],
      ['RemoveIPC', yes],
      ['RestrictAddressFamilies', 'AF_UNIX AF_INET AF_INET6'],
      ['RestrictNamespaces', yes],
      ['RestrictRealtime', yes],
      ['RestrictSUIDSGID', yes],
      ['LockPersonality', yes],
      ['KeyringMode', 'private'],
      // Cloud metadata trusts every process that connects from the host.
      ['IPAddressDeny', 'link-local multicast'],
      ['SystemCallArchitectures', 'native'],
      ['SystemCallFilter', '@system-service'],
      ['SystemCallFilter', '~@privileged @resources @mount @debug @keyring @setuid'],
      ['SystemCallFilter', '~io_uring_enter io_uring_register io_uring_setup'],
      ['SystemCallErrorNumber', 'EPERM'],
    ],
    Install: [['WantedBy', 'multi-user.target']],
  });
}

/**
 * What systemd opens and passes on. It stays open while the service is restarted, whose own end must not stop it; it is stopped with the host's unit, so that no
 * connection starts a service that was stopped together with that.
 */
function socketUnit({ ports }: UnitPlan, name: ListeningPort['name']): string {
  const own = ports.filter((port) => port.name === name);
  return unitFile({
    Unit: [
      ['Description', `Mayfly: port ${own[0]?.port} of ${name === 'api' ? 'the API' : 'previews'}`],
      ['PartOf', hostUnitName],
    ],
    Socket: [
      ...own.map(
        ({ address, port }): Directive => ['ListenStream', `${isIPv6(address) ? `[${address}]` : address}:${port}`],
      ),
      // As Node does: "::" accepts IPv4 as well, whatever the host's default is.
      ['BindIPv6Only', 'both'],
      ['FileDescriptorName', name],
      ['Service', serviceUnitName],
    ],
  });
}

function unitFile(sections: Readonly<Record<string, readonly Directive[]>>): string {
  const texts = Object.entries(sections).map(([name, directives]) =>
    [`[${name}]`, ...directives.map(([key, value]) => `${key}=${value}`)].join('\n'),
  );
  return `${['# Written by mayfly install-service. Put changes into a drop-in: systemctl edit.', ...texts].join('\n\n')}\n`;
}
