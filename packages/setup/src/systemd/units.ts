/** What the units of one installation need to know. All paths are absolute. */
export interface UnitPlan {
  readonly checkout: string;
  /** The project's own Node.js. */
  readonly nodePath: string;
  readonly dataDir: string;
  readonly cacheDir: string;
  /** The operator's settings, one MAYFLY_… per line. It may be missing. */
  readonly environmentFile: string;
  /** What the host process keeps of root's capabilities, without "CAP_". */
  readonly hostCapabilities: readonly string[];
}

export const hostUnitName = 'mayfly-host.service';
export const serviceUnitName = 'mayfly.service';

type Directive = readonly [name: string, value: string | number];

const yes = 'yes';

/**
 * The host process: root, with the capabilities that it uses. Nothing in this unit may give it a mount namespace of its own: it mounts network
 * namespaces that the next start has to find.
 */
export function hostUnit({ checkout, nodePath, environmentFile, hostCapabilities }: UnitPlan): string {
  return unit(
    [
      ['Description', 'Mayfly: virtual machines'],
      ['After', 'network-online.target nftables.service'],
      ['Wants', 'network-online.target'],
    ],
    [
      ['Type', 'exec'],
      ['WorkingDirectory', checkout],
      ['EnvironmentFile', `-${environmentFile}`],
      ['ExecStart', `${nodePath} ${checkout}/bootstrap.mjs host`],
      // Only the host process is stopped: sandboxes keep running, and the next start adopts them.
      ['KillMode', 'process'],
      ['TimeoutStartSec', '30min'],
      ['TimeoutStopSec', 90],
      ['Restart', 'always'],
      ['RestartSec', 2],
      ['OOMScoreAdjust', -999],
      ['LimitNOFILE', 65_536],
      ['UMask', '0077'],
      ['NoNewPrivileges', yes],
      ['CapabilityBoundingSet', hostCapabilities.map((name) => `CAP_${name}`).join(' ')],
      ['RestrictAddressFamilies', 'AF_UNIX AF_INET AF_INET6 AF_NETLINK AF_PACKET'],
      ['RestrictRealtime', yes],
      ['RestrictSUIDSGID', yes],
      ['LockPersonality', yes],
      ['SystemCallArchitectures', 'native'],
      ['KeyringMode', 'private'],
    ],
  );
}

/** The service: its own user, no capability, and of the file system only what it needs. */
export function serviceUnit({ checkout, nodePath, dataDir, cacheDir, environmentFile }: UnitPlan): string {
  const module = `${checkout}/packages/server/src/app/main.ts`;
  return unit(
    [
      ['Description', 'Mayfly: API and previews'],
      ['After', `network-online.target ${hostUnitName}`],
      ['Wants', `network-online.target ${hostUnitName}`],
    ],
    [
      ['Type', 'exec'],
      ['User', 'mayfly'],
      ['Group', 'mayfly'],
      ['WorkingDirectory', `${dataDir}/service`],
      ['EnvironmentFile', `-${environmentFile}`],
      ['Environment', `HOME=${dataDir}/service SQLITE_TMPDIR=${dataDir}/service`],
      ['ExecStart', `${nodePath} --disable-warning=ExperimentalWarning ${module}`],
      ['TimeoutStopSec', 60],
      ['Restart', 'always'],
      ['RestartSec', 2],
      // What cannot be mended by another attempt, such as a wrong setting.
      ['RestartPreventExitStatus', 78],
      ['OOMScoreAdjust', -900],
      ['LimitNOFILE', 65_536],
      ['LimitCORE', 0],
      ['TasksMax', 128],
      ['UMask', '0077'],
      ['NoNewPrivileges', yes],
      ['CapabilityBoundingSet', ''],
      ['AmbientCapabilities', ''],
      ['ProtectSystem', 'strict'],
      ['ProtectHome', 'tmpfs'],
      ['BindReadOnlyPaths', checkout],
      ['ReadWritePaths', `${dataDir}/service`],
      ['InaccessiblePaths', `-${dataDir}/machines -${cacheDir} -/run/mayfly`],
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
      // Cloud metadata trusts whoever connects from the host.
      ['IPAddressDeny', 'link-local multicast'],
      ['SystemCallArchitectures', 'native'],
      ['SystemCallFilter', '@system-service'],
      ['SystemCallFilter', '~@privileged @resources @mount @debug @keyring @setuid'],
      ['SystemCallErrorNumber', 'EPERM'],
    ],
  );
}

function unit(unitSection: readonly Directive[], serviceSection: readonly Directive[]): string {
  const section = (name: string, directives: readonly Directive[]) =>
    [`[${name}]`, ...directives.map(([key, value]) => `${key}=${value}`)].join('\n');
  return `${[
    '# Written by mayfly install-service. Put changes into a drop-in: systemctl edit.',
    section('Unit', unitSection),
    section('Service', serviceSection),
    section('Install', [['WantedBy', 'multi-user.target']]),
  ].join('\n\n')}\n`;
}
