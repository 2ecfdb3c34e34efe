const { readdirSync } = require('node:fs');
const path = require('node:path');

/**
 * The directions of imports: contract ← core ← adapters ← app, host process and supervisor (one for each process) ← setup. Adapters never import each other.
 */
const server = '^packages/server/src';
const adapters = ['store', 'machines', 'guest', 'http', 'gateway', 'admin', 'metrics', 'screens'];
/** Adapters that listen on the network; they share `listening`. */
const servers = ['http', 'gateway'];
const test = '\\.test\\.ts$';

/**
 * The folders of core, lowest first. Each imports only folders before it, types included: cycles between folders are impossible, and what a use case
 * needs (its `…Needs`) cannot name anything of a higher folder.
 */
const coreFolders = [
  'errors',
  'ports',
  'ids',
  'changes',
  'scheduling',
  'budgets',
  'money',
  'windows',
  'audit',
  'accounts',
  'sign-in',
  'admission',
  'lifecycle',
  'machines',
  'pool',
  'sandboxes',
  'eviction',
  'executions',
  'terminals',
  'files',
  'previews',
  'snapshots',
  'operators',
  'recovery',
  'copies',
];
const unranked = readdirSync(path.join(__dirname, 'packages/server/src/core')).filter(
  (name) => !coreFolders.includes(name),
);
if (unranked.length > 0) {
  const advice = 'Rank them in coreFolders of .dependency-cruiser.cjs; files belong into a folder';
  throw new Error(`${advice}: ${unranked.join(', ')}`);
}

module.exports = {
  forbidden: [
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
    { name: 'no-unresolved', severity: 'error', from: {}, to: { couldNotResolve: true } },
    {
      name: 'contract-knows-nobody',
      severity: 'error',
      from: { path: '^packages/contract/' },
      to: { path: '^packages/(?!contract/)' },
    },
    {
      name: 'core-imports-only-the-contract',
      severity: 'error',
      from: { path: `${server}/core/`, pathNot: test },
      to: { path: '^packages/', pathNot: ['^packages/contract/', `${server}/core/`] },
    },
    ...coreFolders.slice(0, -1).map((folder, index) => ({
      name: `core-${folder}-imports-no-higher-folder`,
      severity: 'error',
      from: { path: `${server}/core/${folder}/`, pathNot: test },
      to: { path: `${server}/core/(${coreFolders.slice(index + 1).join('|')})/` },
    })),
    ...adapters.map((adapter) => ({
      name: `${adapter}-imports-only-core-and-contract`,
      severity: 'error',
      from: { path: `${server}/${adapter}/`, pathNot: test },
      to: {
        path: '^packages/',
        pathNot: [
          '^packages/contract/',
          `${server}/core/`,
          `${server}/${adapter}/`,
          ...(servers.includes(adapter) ? [`${server}/listening/`] : []),
          ...(adapter === 'machines' ? [`${server}/system/`] : []),
        ],
      },
    })),
    {
      name: 'listening-imports-only-core',
      severity: 'error',
      from: { path: `${server}/listening/`, pathNot: test },
      to: { path: '^packages/', pathNot: [`${server}/core/`, `${server}/listening/`] },
    },
    {
      name: 'host-process-imports-only-machines-and-ports',
      severity: 'error',
      from: { path: `${server}/host-process/`, pathNot: test },
      to: {
        path: '^packages/',
        pathNot: [
          '^packages/contract/',
          `${server}/core/(errors|ports|scheduling)/`,
          `${server}/(host-process|machines|process|system)/`,
        ],
      },
    },
    {
      name: 'nobody-imports-the-host-process',
      severity: 'error',
      from: { path: '^packages/', pathNot: [`${server}/host-process/`, test, '^packages/[^/]+/test/'] },
      to: { path: `${server}/host-process/`, pathNot: `${server}/host-process/settings\\.ts$` },
    },
    {
      name: 'the-remote-driver-runs-nothing',
      severity: 'error',
      from: { path: `${server}/machines/(protocol|remote)/`, pathNot: test },
      to: { path: [`${server}/machines/(?!protocol/|remote/|egress/|ipv4)`, `${server}/system/(?!unix-sockets)`] },
    },
    {
      name: 'system-imports-only-core',
      severity: 'error',
      from: { path: `${server}/system/`, pathNot: test },
      to: { path: '^packages/', pathNot: [`${server}/core/(errors|ports|scheduling)/`, `${server}/system/`] },
    },
    {
      name: 'confinement-imports-only-machines-and-system',
      severity: 'error',
      from: { path: `${server}/confinement/`, pathNot: test },
      to: {
        path: '^packages/',
        pathNot: [
          '^packages/contract/',
          `${server}/core/(errors|ports|scheduling)/`,
          `${server}/(confinement|machines|system)/`,
        ],
      },
    },
    {
      name: 'what-all-processes-share-imports-nothing',
      severity: 'error',
      from: { path: `${server}/process/`, pathNot: test },
      to: { path: '^packages/', pathNot: `${server}/process/` },
    },
    {
      name: 'nobody-imports-the-supervisor',
      severity: 'error',
      from: { path: server, pathNot: [`${server}/supervisor/`, test] },
      to: { path: `${server}/supervisor/` },
    },
    {
      name: 'nobody-imports-the-app',
      severity: 'error',
      from: { path: server, pathNot: [`${server}/(app|supervisor)/`, test] },
      to: { path: `${server}/app/` },
    },
    {
      name: 'sdk-imports-nothing',
      severity: 'error',
      from: { path: '^packages/sdk/src/', pathNot: test },
      to: { pathNot: '^packages/sdk/src/' },
    },
    {
      name: 'cli-imports-only-the-contract-and-the-sdk',
      severity: 'error',
      from: { path: '^packages/cli/src/', pathNot: test },
      to: { path: '^packages/', pathNot: ['^packages/contract/', '^packages/sdk/src/index\\.ts$', '^packages/cli/'] },
    },
    {
      name: 'dashboard-imports-only-the-contract-and-the-sdk',
      severity: 'error',
      from: { path: '^packages/dashboard/', pathNot: '^packages/dashboard/test/' },
      to: {
        path: '^packages/',
        pathNot: ['^packages/contract/', '^packages/sdk/src/index\\.ts$', '^packages/dashboard/'],
      },
    },
    {
      name: 'nobody-imports-the-dashboard',
      severity: 'error',
      from: { path: '^packages/(?!dashboard/)' },
      to: { path: '^packages/dashboard/' },
    },
    {
      name: 'setup-uses-only-the-entries-of-the-server',
      severity: 'error',
      from: { path: '^packages/setup/', pathNot: test },
      to: { path: `${server}/`, pathNot: `${server}/(app|confinement|guest|machines|supervisor|system)/index\\.ts$` },
    },
    {
      name: 'server-does-not-know-the-set-up',
      severity: 'error',
      from: { path: '^packages/(?!setup/)' },
      to: { path: '^packages/setup/' },
    },
    {
      name: 'only-tests-import-test-code',
      severity: 'error',
      from: { path: '^packages/', pathNot: [test, '^packages/[^/]+/test/'] },
      to: { path: test },
    },
    {
      name: 'production-code-imports-no-test-helpers',
      severity: 'error',
      from: { path: '^packages/[^/]+/src/', pathNot: test },
      to: { path: '^packages/[^/]+/test/' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    exclude: { path: '^packages/[^/]+/dist/' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
