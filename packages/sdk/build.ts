// Builds the package as it is published: `node packages/sdk/build.ts FOLDER`. ECMAScript modules and CommonJS, with their types, and no dependencies.
import { execFileSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const here = import.meta.dirname;
const folder = resolve(process.argv[2] ?? join(here, 'dist'));

const { name, version, description, license } = JSON.parse(readFileSync(join(here, 'package.json'), 'utf8')) as Record<
  string,
  string
>;
const manifest = {
  name,
  version,
  description,
  license,
  keywords: ['sandbox', 'vm', 'virtual machine', 'code execution', 'ai agents'],
  type: 'module',
  sideEffects: false,
  engines: { node: '>=20.16' },
  main: './cjs/index.js',
  module: './esm/index.js',
  types: './cjs/index.d.ts',
  exports: {
    '.': {
      import: { types: './esm/index.d.ts', default: './esm/index.js' },
      require: { types: './cjs/index.d.ts', default: './cjs/index.js' },
    },
    './package.json': './package.json',
  },
};

rmSync(folder, { recursive: true, force: true });
compile('esm', 'esnext');
compile('cjs', 'commonjs');
writeJson('cjs/package.json', { type: 'commonjs' });
writeJson('package.json', manifest);
copyFileSync(join(here, 'README.md'), join(folder, 'README.md'));
copyFileSync(join(here, '../../LICENSE'), join(folder, 'LICENSE'));

/** Compiles the programs without their comments, which are for the readers of the types. */
function compile(below: string, module: string): void {
  const outDir = join(folder, below);
  mkdirSync(outDir, { recursive: true });
  const tsc = join(here, '../../node_modules/typescript-7/bin/tsc');
  const options = ['-p', join(here, 'tsconfig.build.json'), '--outDir', outDir, '--module', module];
  for (const part of [['--declaration', 'false', '--removeComments'], ['--emitDeclarationOnly']]) {
    execFileSync(process.execPath, [tsc, ...options, ...part], { stdio: 'inherit' });
  }
}

function writeJson(file: string, value: unknown): void {
  writeFileSync(join(folder, file), `${JSON.stringify(value, null, 2)}\n`);
}
