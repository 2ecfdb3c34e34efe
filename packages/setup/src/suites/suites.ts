/** One suite of the repository's test folder: a file, or a folder whose files test one part of the interface. */
export interface Suite {
  /** Its path in test/ without the ending: `snapshots/kills`. */
  readonly name: string;
  /** Pattern of its test files; by default the one that has its name. */
  readonly files: string;
  /** What it shows, for readers. */
  readonly shows: string;
  /**
   * The code whose behaviour it tests: files, folders with everything in them, or patterns. What it only passes through is left out: every suite
   * launches machines, but a change of the driver selects those that look at machines. Helpers that its files import need not be named.
   */
  readonly sources: readonly string[];
  /** Why no other suite may run beside it. */
  readonly alone?: string;
  /** Whether it measures time or works under load, so that a slow host could make it fail: `npm run test:busy` shows that none does. */
  readonly timed?: true;
  /** What it does more with MAYFLY_TEST_LONG=1. */
  readonly long?: string;
  /** Where it runs if neither alone nor side by side with others: after them, or not in `npm test` but in `npm run test:kvm`. */
  readonly runs?: 'last' | 'on KVM';
}

type Row = Omit<Suite, 'files'> & Partial<Pick<Suite, 'files'>>;

const wholeHost = 'compares the state of the whole host';
/** The reason of suites that compare speeds. */
export const speeds = 'compares speeds';

/** Folders and files of the server's sources. */
const server = (...paths: string[]) => paths.map((path) => `packages/server/src/${path}`);
/** Folders and files of the set-up's sources. */
const setup = (...paths: string[]) => paths.map((path) => `packages/setup/src/${path}`);
/** Packages of the guest's agent. */
const agent = (...packages: string[]) => packages.map((name) => `guest/agent/internal/${name}`);

/** The driver itself, without the parts in folders of their own. */
const driver = server('machines/qemu/*.ts', 'machines/qemu/qmp', 'system');
/** How the service reaches machines in the host process. */
const betweenProcesses = server('host-process', 'machines/protocol', 'machines/remote');
/** What decides about sandboxes and what stores it. */
const records = server('core/lifecycle', 'core/sandboxes', 'core/machines', 'core/money', 'core/recovery', 'store');
/** From one process's start to its end. */
const processes = server('app', 'process', 'supervisor');
const jail = ['native/jail', 'native/seccomp', ...server('machines/qemu/jail', 'confinement')];
const savedMemory = [
  'native/ram',
  'native/qemu-preload',
  ...server('machines/qemu/snapshots', 'machines/qemu/template'),
];
const snapshots = [...savedMemory, ...server('core/snapshots', 'core/copies', 'core/sandboxes/source.ts')];
const packageFiles = ['package.json', 'package-lock.json', '.npmrc', 'packages/*/package.json', 'bootstrap.mjs'];

const rows: readonly Row[] = [
  {
    name: 'adoption/either-side',
    shows: 'service and host process are killed in turn, and the other goes on',
    sources: [...betweenProcesses, ...processes, ...records, ...server('machines/qemu/adopt.ts')],
    alone: wholeHost,
    long: 'on both databases',
    timed: true,
  },
  {
    name: 'adoption/interrupted-save',
    shows: 'a machine survives a driver that is killed while it saves',
    sources: [...driver, ...server('machines/qemu/snapshots')],
    long: 'more moments of the kill',
    timed: true,
  },
  {
    name: 'adoption/refusal',
    shows: 'machines that cannot be adopted are destroyed or left alone',
    sources: [...driver, ...server('machines/qemu/owners')],
    alone: wholeHost,
    timed: true,
  },
  {
    name: 'adoption/restart',
    shows: 'many machines survive a kill of all processes',
    sources: [...driver, ...processes, ...server('core/recovery', 'host-process')],
    alone: wholeHost,
    long: 'more machines',
    timed: true,
  },
  {
    name: 'adoption/updated-guest',
    shows: 'a sandbox keeps its guest when the guest is updated',
    sources: [
      ...server('machines/qemu/adopt.ts', 'machines/qemu/template'),
      ...setup('artifacts.ts', 'cache', 'templates', 'commands/update-guest.ts'),
    ],
    timed: true,
  },
  {
    name: 'adoption/vanished-owner',
    shows: 'what a deleted data folder left is removed, and nothing else',
    sources: server('machines/qemu/owners', 'machines/qemu/host-resources.ts', 'supervisor'),
    alone: wholeHost,
    timed: true,
  },
  {
    name: 'chaos/database',
    shows: 'kills under load on PostgreSQL lose no sandbox and no money',
    sources: [...betweenProcesses, ...processes, ...records, ...server('core/executions', 'core/scheduling')],
    long: 'more minutes',
    timed: true,
  },
  {
    name: 'chaos/service',
    shows: 'kills under load on SQLite lose no sandbox and no money',
    sources: [...betweenProcesses, ...processes, ...records, ...server('core/executions', 'core/scheduling')],
    long: 'more minutes',
    timed: true,
  },
  {
    name: 'cli/commands',
    shows:
      '`mayfly run`, `exec`, `shell`, `cp` and `logs` against a real service, through pipes, signals and terminals',
    sources: [
      'packages/cli',
      'packages/sdk',
      ...server('core/executions', 'http/routes/live.ts', 'http/routes/terminals.ts'),
    ],
    long: 'more input',
  },
  {
    name: 'cli/documentation',
    shows: 'the commands in `docs/cli.md` run as they are printed',
    sources: ['packages/cli', 'packages/sdk', 'docs/cli.md'],
  },
  conformance('account', 'account, usage and billing', ['core/accounts', 'core/audit', 'core/money', 'store']),
  {
    ...conformance(
      'executions',
      'commands: output, timeouts, records',
      ['core/executions', 'core/budgets', 'guest'],
      agent('execution'),
    ),
    long: 'a command of ten minutes',
  },
  conformance('faults', 'what callers see when machines or the service fail', [
    'core/admission',
    'core/lifecycle',
    'core/machines',
    'core/recovery',
    'app',
  ]),
  conformance('files', 'writing, reading, listing and deleting files', ['core/files', 'guest'], agent('files')),
  conformance('limits', 'API keys and rate limits', ['core/accounts', 'core/windows', 'store']),
  conformance('ports', 'ports and previews', ['core/previews', 'gateway'], agent('tunnel')),
  conformance(
    'requests',
    'authentication, bodies, headers, error shapes',
    ['app', 'core/errors', 'listening'],
    packageFiles,
  ),
  conformance(
    'sandboxes',
    'creating, reading, extending and deleting sandboxes',
    ['core/admission', 'core/ids', 'core/lifecycle', 'core/pool', 'core/sandboxes', 'store'],
    ['guest/image/skeleton'],
  ),
  dashboard(
    'accessibility',
    'what axe finds, in both themes, and signing in and making a key with the keyboard alone',
    ['http/reference'],
  ),
  dashboard(
    'dashboard',
    'signing in, keys, the list of sandboxes, links, sessions',
    ['core/sign-in', 'core/accounts'],
    true,
  ),
  dashboard('files', 'the files of a sandbox: the tree, opening, editing, saving, uploading, downloading, removing', [
    'core/files',
  ]),
  dashboard('hostile-preview', 'what the page of a preview can do to somebody who is signed in', ['gateway']),
  dashboard(
    'machine',
    'the page of one sandbox: charts, commands, ports, snapshots, and what is left when it has ended',
    ['http/routes', 'core/executions', 'core/previews', 'core/snapshots'],
  ),
  dashboard(
    'sandboxes',
    'the list of sandboxes: creating, searching, selecting, extending, forking, snapshots, deleting',
    ['core/changes', 'core/copies', 'core/sandboxes', 'core/snapshots'],
  ),
  dashboard('terminal', 'terminals of a sandbox: programs, sizes, reloads, ends, lost connections', [
    'core/terminals',
    'screens',
  ]),
  dashboard('usage', 'usage by day, the file with it, limits', ['core/money', 'core/windows']),
  {
    name: 'documentation/numbers',
    shows: 'times, limits and prices in the documentation match the code',
    sources: [
      'ARCHITECTURE.md',
      'README.md',
      'docs',
      'packages/cli/src/logs/logs-command.ts',
      'packages/cli/src/progress-line.ts',
      'packages/cli/src/{running,shell}/**',
      'packages/cli/src/service/find-sandbox.ts',
      'packages/contract/src/limits.ts',
      'packages/contract/src/operations/account.ts',
      'packages/sdk/src/settings.ts',
      'packages/sdk/src/terminals/web-socket.ts',
      'native/jail/limits.go',
      'native/net/internal/{machine,resolver}/**',
      ...agent('execution/input.go', 'expiry', 'terminal'),
      ...server('app/{assemble-core,ballast,config,run-service,service}.ts'),
      ...server('confinement/{process-cgroup,spec,tls-copy}.ts'),
      ...server('core/{admission,audit,budgets,eviction,sign-in,windows}/**', 'core/executions/collect.ts'),
      ...server('core/machines/teardowns.ts', 'core/ports/machine-deadlines.ts', 'core/previews/visits.ts'),
      ...server('core/terminals/terminals.ts', 'gateway/gateway-context.ts', 'guest/guest-limits.ts'),
      ...server('host-process/host-limits.ts', 'http/app.ts', 'http/bodies/{json-body,slow-body}.ts'),
      ...server('http/slow-readers.ts', 'http/sockets/terminal-socket.ts', 'listening/stranger-log.ts'),
      ...server('machines/protocol/messages.ts', 'machines/remote/{host-connection,remote-driver}.ts'),
      ...server('machines/qemu/{host-capabilities,log-trimmer,restore}.ts'),
      ...server('machines/qemu/jail/{cgroup-limits,uid-leases}.ts'),
      ...server('machines/qemu/network/{host,plan,resolver,rules}/**', 'machines/qemu/network/machine-networks.ts'),
      ...server('metrics/{event-loop-delay,gauges}.ts', 'process/log-rate.ts', 'screens/{emulator,worker-screens}.ts'),
      ...server('store/postgres/open.ts', 'supervisor/{guest-age,restart-policy,supervised-process}.ts'),
      ...setup('systemd/units.ts'),
    ],
  },
  {
    name: 'documentation/page',
    shows: 'the page at `/docs` in Chromium: one choice of a language for all samples, by click and keyboard',
    sources: ['packages/contract/src/openapi', ...server('http/reference')],
  },
  {
    name: 'documentation/readme',
    shows: 'the commands of the README do what it says',
    sources: ['README.md', ...packageFiles, ...setup('main.ts', 'announce.ts', 'prepare.ts'), ...server('app')],
    alone: 'runs `npm start`, as on a host of its own',
  },
  {
    name: 'documentation/references',
    shows: 'documentation names only paths, settings and commands that exist; this table matches the code',
    sources: [
      '**/*.md',
      '.ci/run',
      'docs',
      'packages/cli',
      'packages/contract/src/limits.ts',
      ...packageFiles,
      ...setup('main.ts', 'suites'),
      ...server('app/config.ts', 'app/setting-fields.ts'),
      // What all suites use; this one is the shortest.
      'vitest.config.ts',
      'test/support/global-setup.ts',
    ],
  },
  {
    name: 'fuzz/api',
    shows: 'generated requests: no 500, no hang, only documented responses',
    sources: ['packages/contract', ...server('http', 'core/errors', 'core/files', 'core/executions')],
    long: 'more requests',
    runs: 'last',
  },
  {
    name: 'hostile/compromised-service',
    shows: 'what a service that was taken over can neither reach nor break',
    sources: [...jail, ...betweenProcesses, ...server('supervisor')],
    alone: wholeHost,
    long: 'more messages',
    timed: true,
  },
  {
    name: 'hostile/floods',
    shows: 'floods from callers, visitors and guests do not hold the event loop',
    sources: [
      'test/hostile/agent',
      ...server('http', 'listening', 'guest', 'gateway/server', 'gateway/tls', 'core/budgets', 'core/scheduling'),
    ],
    alone: speeds,
    long: 'more of each flood',
    timed: true,
  },
  {
    name: 'hostile/hostile',
    shows: 'a malicious agent cannot crash, hang or bloat the service',
    sources: [
      'test/hostile/agent',
      ...agent('attach', 'frame', 'port', 'routes'),
      ...server('guest', 'core/machines', 'core/budgets', 'gateway/forward'),
    ],
    alone: speeds,
    long: 'every kind of attack, and the real deadlines',
    timed: true,
  },
  {
    name: 'kvm/machine',
    shows: 'accelerator, jail and clock of a machine on KVM, and that it can be saved, copied and rolled back',
    sources: [
      ...jail,
      ...driver,
      ...savedMemory,
      ...setup('outer-machine', 'steps/engine.ts', 'commands/kvm-tests.ts'),
      'vitest.kvm.config.ts',
      'test/kvm/global-setup.ts',
    ],
    runs: 'on KVM',
  },
  {
    name: 'kvm/service',
    shows: 'a sandbox from create to delete on KVM',
    sources: ['guest/agent', ...driver, ...savedMemory, ...setup('outer-machine', 'commands/kvm-tests.ts')],
    runs: 'on KVM',
  },
  {
    name: 'lifecycle/expiry',
    shows: 'an expired sandbox is destroyed, also after a restart',
    sources: server('core/lifecycle', 'core/sandboxes', 'core/recovery', 'core/scheduling', 'app'),
  },
  {
    name: 'lifecycle/machine-dies',
    shows: 'the death of a machine is noticed, and billing stops',
    sources: [
      ...server('core/lifecycle', 'core/machines', 'core/money', 'machines/qemu/machine-process.ts'),
      ...betweenProcesses,
    ],
    timed: true,
  },
  {
    name: 'lifecycle/pool',
    shows: 'many creates at once with a small pool launch no extra machine',
    sources: server('core/pool', 'core/sandboxes', 'core/machines', 'core/admission'),
    long: 'more creates',
  },
  {
    name: 'lifecycle/power-cut',
    shows: 'all processes and machines are killed at once, and records and money are right afterwards',
    sources: [...records, ...processes, ...server('host-process', 'machines/qemu/adopt.ts', 'machines/qemu/owners')],
    long: 'on both databases, in more orders',
    timed: true,
  },
  {
    name: 'lifecycle/restart',
    shows: 'a command that runs during a restart keeps its complete output',
    sources: [
      ...agent('agent', 'attach', 'execution'),
      ...processes,
      ...server('core/executions', 'core/recovery', 'guest'),
    ],
  },
  {
    name: 'live/commands',
    shows: 'streams, background commands, stdin, signals',
    sources: [
      ...agent('cgroup', 'execution', 'shell'),
      ...server('core/executions', 'guest', 'http/bodies', 'http/routes/live.ts'),
    ],
    long: 'more lines',
  },
  {
    name: 'live/readers',
    shows: 'readers that do not read',
    sources: [...agent('execution'), ...server('core/executions', 'guest', 'http/bodies', 'http/slow-readers.ts')],
    long: 'more output',
  },
  {
    name: 'live/restarts',
    shows: 'streams that are continued through restarts and kills of either process',
    sources: [
      ...agent('attach', 'execution'),
      ...betweenProcesses,
      ...server('core/executions', 'core/recovery', 'app'),
    ],
    long: 'a longer build, more kills',
  },
  {
    name: 'live/silence',
    shows: 'streams and terminals that are silent for long stay open through a proxy',
    sources: server('http/bodies', 'http/sockets', 'http/slow-readers.ts', 'core/executions/live', 'core/terminals'),
    long: 'a quarter of an hour',
  },
  {
    name: 'live/terminals',
    shows: 'shells, vim, top, a large paste, clients that leave, come back or do not read, restarts and kills',
    sources: [
      ...agent('terminal', 'attach', 'shell'),
      ...betweenProcesses,
      ...server('core/terminals', 'screens', 'guest', 'http/sockets', 'http/routes/terminals.ts', 'app'),
    ],
    long: 'more output, more kills',
  },
  {
    name: 'machines/capabilities',
    shows: 'the driver works with the documented capabilities and no other',
    sources: [
      ...driver,
      ...jail,
      ...server('machines/qemu/network', 'machines/qemu/owners', 'machines/qemu/snapshots'),
    ],
    alone: wholeHost,
  },
  {
    name: 'machines/clock',
    shows: 'the clock is right although the saved state is old',
    sources: [...agent('identity'), ...server('guest', 'machines/qemu/template'), ...setup('templates')],
  },
  {
    name: 'machines/cpu',
    shows: 'a guest has neither virtualization extensions nor performance counters',
    sources: [...server('machines/qemu/argv.ts', 'machines/qemu/engine.ts'), ...setup('steps/kernel.ts')],
  },
  {
    name: 'machines/driver',
    shows: 'what every driver of machines must do, on QEMU',
    sources: [
      'guest/agent',
      ...driver,
      ...savedMemory,
      ...server('guest', 'core/ports', 'machines/qemu/jail'),
      ...setup('artifacts.ts', 'steps', 'templates'),
    ],
  },
  {
    name: 'machines/jail',
    shows: 'QEMU has no privileges and reaches no file of others',
    sources: [
      ...jail,
      ...server('machines/qemu/{argv,machine-process,restore}.ts', 'machines/qemu/snapshots/restore-files.ts'),
    ],
  },
  {
    name: 'machines/leaks',
    shows: 'a fault at any step of a launch or destroy leaves nothing on the host',
    sources: [...driver, ...server('machines/qemu/network', 'machines/qemu/jail')],
    alone: wholeHost,
    long: 'more faults',
  },
  {
    name: 'machines/log',
    shows: "QEMU's log is trimmed while QEMU writes it",
    sources: server('machines/qemu/log-trimmer.ts', 'machines/qemu/machine-process.ts'),
  },
  {
    name: 'machines/reattach',
    shows: 'a channel that is cut at random moments works again after the next attach',
    sources: [...agent('attach', 'frame', 'port'), ...server('guest', 'machines/qemu/agent-sockets.ts')],
    long: 'more kills',
  },
  {
    name: 'machines/remote-driver',
    shows: 'what every driver of machines must do, through the host process',
    sources: [...betweenProcesses, ...server('core/ports', 'machines/index.ts', 'machines/qemu/agent-sockets.ts')],
  },
  {
    name: 'machines/snapshots',
    shows: 'memory and disk of snapshots, layers, faults while saving',
    sources: [...savedMemory, ...driver],
    long: 'a fault at every step',
  },
  {
    name: 'network/egress',
    shows: 'what a machine reaches of the network, and what it cannot',
    sources: [
      'native/net',
      'native/seccomp',
      ...server('machines/egress', 'machines/ipv4.ts', 'machines/qemu/network'),
    ],
    alone: speeds,
    timed: true,
  },
  {
    name: 'previews/browser',
    shows: 'pages, WebSockets and a dev server in Chromium',
    sources: ['test/previews/guest', ...server('gateway', 'core/previews')],
  },
  {
    name: 'previews/large-bodies',
    shows: 'large bodies pass without being buffered, and tokens are not logged',
    sources: ['test/previews/guest', ...server('gateway', 'guest/calls', 'process/log.ts')],
  },
  {
    name: 'previews/restart',
    shows: 'a preview URL leads to the same server after a restart',
    sources: server('core/previews', 'core/recovery', 'app', 'gateway/tls'),
  },
  {
    name: 'previews/visits',
    shows: 'crowds, streams, endings, isolation, smuggling',
    sources: [
      'test/previews/guest',
      ...agent('attach', 'tunnel'),
      ...server('gateway', 'core/previews', 'guest', 'app/previews.ts'),
    ],
  },
  {
    name: 'sdk/output',
    shows: 'a lot of output leaves the memory of a client flat',
    sources: ['packages/sdk/src/commands', 'packages/sdk/src/http'],
    long: 'more output',
  },
  {
    name: 'sdk/reference',
    shows: 'the samples of the reference at `/docs` run on a real service and make the requests that they illustrate',
    sources: ['packages/contract/src/openapi', 'packages/contract/src/operations', 'packages/sdk/src'],
  },
  {
    name: 'sdk/runtimes',
    shows: 'the published SDK on Node.js 20, 22 and 24, Bun, Deno, in a browser, and bundled',
    sources: ['packages/sdk', 'test/sdk/programs', 'test/sdk/tools'],
  },
  {
    name: 'sdk/sandboxes',
    shows: 'the SDK over a real service: commands, copies, a restart, a machine that dies',
    sources: ['packages/sdk'],
  },
  {
    name: 'sdk/snippets',
    shows: 'the programs in the documentation of the SDK, and the recipes, run as they are printed',
    sources: ['packages/sdk', 'docs/sdk.md', 'docs/recipes.md'],
    long: 'all recipes',
  },
  {
    name: 'service/commands',
    shows: 'commands: streams, limits, signals, many at once',
    sources: [
      ...agent('cgroup', 'execution', 'shell', 'terminal'),
      ...server('core/budgets', 'core/executions', 'guest', 'http/bodies'),
    ],
    long: 'more commands at once',
  },
  {
    name: 'service/disk-rate',
    shows: 'a guest that writes all the time stays within its rate',
    sources: server('machines/qemu/argv.ts', 'machines/qemu/jail', 'supervisor/machine-limits.ts'),
    alone: speeds,
    timed: true,
  },
  {
    name: 'service/files',
    shows: 'files: content, names, links, permissions, sizes',
    sources: [...agent('files', 'fsuser'), ...server('core/files', 'guest', 'http/bodies')],
    long: 'more large files at once',
  },
  {
    name: 'service/full-disk',
    shows: 'a full disk of the host: refusals, eviction, the database goes on',
    sources: server(
      'app/ballast.ts',
      'core/admission',
      'core/eviction',
      'machines/qemu/check-host.ts',
      'machines/qemu/restore.ts',
      'store/sqlite',
    ),
  },
  {
    name: 'service/identity',
    shows: 'two sandboxes share neither kernel, identity nor files',
    sources: [...agent('identity', 'initsys'), 'guest/image/skeleton', ...server('guest', 'machines/qemu/restore.ts')],
  },
  {
    name: 'service/memory-limit',
    shows: 'the memory limit of all machines: who is evicted, who keeps working',
    sources: server(
      'supervisor/machine-limits.ts',
      'supervisor/oom-protection.ts',
      'core/eviction',
      'machines/qemu/jail',
    ),
    long: 'more memory',
    timed: true,
  },
  {
    name: 'service/noisy-neighbour',
    shows: 'a busy sandbox does not slow down its neighbour',
    sources: server('machines/qemu/jail', 'supervisor/machine-limits.ts'),
    alone: speeds,
    timed: true,
  },
  {
    name: 'service/npm-start',
    shows: 'signals to each process of `npm start`',
    sources: [...packageFiles, ...processes, ...server('host-process'), ...setup('main.ts', 'prepare.ts')],
    alone: wholeHost,
  },
  {
    name: 'service/operators',
    shows: '`mayfly admin` against a running service; what tenants cannot see',
    sources: [
      'packages/cli/src/admin',
      'packages/contract/src/admin',
      ...server('admin', 'core/operators', 'core/sign-in', 'metrics'),
    ],
  },
  {
    name: 'service/privileges',
    shows: 'which privileges and sockets each process has',
    sources: [...jail, 'native/net', ...processes, ...server('host-process', 'machines/qemu/host-capabilities.ts')],
  },
  {
    name: 'service/resource-exhaustion',
    shows: 'a sandbox accepts commands after a fork bomb, without memory, with a full disk',
    sources: [...agent('cgroup', 'execution', 'fault', 'initsys', 'stats'), ...server('core/executions', 'guest')],
  },
  {
    name: 'service/sizes',
    shows: 'each size has its CPUs, memory and disk',
    sources: [
      'packages/contract/src/limits.ts',
      'packages/contract/src/resources/sandbox.ts',
      'packages/contract/src/sizes.ts',
      ...server('machines/qemu/template', 'machines/qemu/argv.ts'),
      ...setup('steps/disks.ts', 'templates'),
    ],
  },
  {
    name: 'service/tools',
    shows: 'what is installed in the image, and the rights of its user',
    sources: ['guest/image', ...setup('steps')],
    long: 'a Python package from its sources',
  },
  {
    name: 'snapshots/copies',
    shows: 'copies have the state of the instant and an identity of their own',
    sources: [...snapshots, ...agent('identity'), ...server('http/routes/copies.ts', 'http/routes/snapshots.ts')],
    long: 'more copies and more memory',
  },
  {
    name: 'snapshots/full-disk',
    shows: 'a save on a full disk fails, and nothing else does',
    sources: [...snapshots, ...server('core/admission')],
  },
  {
    name: 'snapshots/integrity',
    shows: 'a tree that is being written is consistent in every copy',
    sources: [...snapshots, 'test/snapshots/guest/writer.py'],
    long: 'more rounds',
  },
  {
    name: 'snapshots/kills',
    shows: 'kills during snapshots, copies and rollbacks leave no half snapshot',
    sources: [...snapshots, ...betweenProcesses, ...processes, ...server('core/recovery')],
    long: 'more kills',
  },
  {
    name: 'snapshots/pool',
    shows: 'copies of a snapshot wait in the pool',
    sources: [...snapshots, ...server('core/pool')],
  },
  {
    name: 'snapshots/rollback',
    shows: 'a rollback brings the state back, whatever the sandbox does',
    sources: [...snapshots, ...server('core/executions', 'core/previews')],
  },
  {
    name: 'support/diagnosis',
    files: 'test/support/diagnosis/*.test.ts',
    shows: 'what a failed test, a failed hook and a suite that hangs print',
    sources: [
      'test/support/diagnosis',
      'test/support/{compile-cache,failure-report,hung-suites,skip-report,suite-times}.ts',
    ],
  },
  {
    name: 'templates/build',
    shows: '`mayfly template build` from recipes and Dockerfiles',
    sources: ['packages/cli', ...snapshots],
  },
];

/** Every suite of the repository's test folder. */
export const suites: readonly Suite[] = rows.map((row) => ({ files: `test/${row.name}.test.ts`, ...row }));

/** Files that only the tests of their own package or Go module use. They break a suite only if it imports them. */
export const testCode: readonly string[] = [
  'packages/**/*.test.ts',
  'packages/**/golden/**',
  'packages/*/test/**',
  '{guest,native}/**/*_test.go',
  '{guest,native}/**/testdata/**',
  'native/net/testguest/**',
];

/** Other files that no suite covers, because the static checks and unit tests do. */
export const withoutSuite: readonly string[] = [
  'packages/setup/src/{commands,requirements,systemd}/**',
  'packages/setup/src/environment.ts',
  '{bench,scripts}/**',
  '{biome,knip,tsconfig}.json',
  '{.dependency-cruiser.cjs,.editorconfig,.gitignore,.oxlintrc.json}',
  'LICENSE',
];

/** A part of the dashboard in Chromium. */
function dashboard(part: string, subject: string, folders: readonly string[], isBuilt = false): Row {
  return {
    name: `dashboard/${part}`,
    shows: `the dashboard in Chromium: ${subject}`,
    sources: [
      'packages/dashboard',
      'packages/contract/src/dashboard',
      ...server('http/dashboard', ...folders),
      ...(isBuilt ? setup('steps/dashboard.ts') : []),
    ],
  };
}

/** The specification, sentence by sentence: one suite for each of its parts. */
function conformance(part: string, subject: string, folders: readonly string[], others: readonly string[] = []): Row {
  return {
    name: `conformance/${part}`,
    files: `test/conformance/${part}/*.test.ts`,
    shows: `the specification of ${subject}`,
    sources: ['packages/contract', ...server('http', ...folders), ...others],
  };
}
