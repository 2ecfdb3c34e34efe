/** The directions of imports: contract ← core ← adapters ← app ← setup. Adapters never import each other. */
const server = '^packages/server/src';
const adapters = ['store', 'machines', 'guest', 'http', 'gateway', 'admin', 'metrics'];
const test = '\\.test\\.ts$';

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
    ...adapters.map((adapter) => ({
      name: `${adapter}-imports-only-core-and-contract`,
      severity: 'error',
      from: { path: `${server}/${adapter}/`, pathNot: test },
      to: { path: '^packages/', pathNot: ['^packages/contract/', `${server}/core/`, `${server}/${adapter}/`] },
    })),
    {
      name: 'nobody-imports-the-app',
      severity: 'error',
      from: { path: server, pathNot: [`${server}/app/`, test] },
      to: { path: `${server}/app/` },
    },
    {
      name: 'cli-imports-only-the-contract',
      severity: 'error',
      from: { path: '^packages/cli/', pathNot: test },
      to: { path: '^packages/', pathNot: ['^packages/contract/', '^packages/cli/'] },
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
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: { exportsFields: ['exports'], conditionNames: ['import', 'node', 'default'] },
  },
};
