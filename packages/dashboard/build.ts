// Builds the page: `node packages/dashboard/build.ts [FOLDER]`, by default dist. Every file gets its .br and .gz beside it where that saves something,
// so that the service compresses nothing while it runs.
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { brotliCompressSync, constants, gzipSync } from 'node:zlib';
import { build } from 'vite';

// The service's user reads the files too, whatever root's umask.
process.umask(0o022);
// Tests build it too, in an environment that would make React the one for developers.
process.env.NODE_ENV = 'production';

const folder = resolve(process.argv[2] ?? join(import.meta.dirname, 'dist'));
const configFile = join(import.meta.dirname, 'vite.config.ts');
await build({ configFile, configLoader: 'native', logLevel: 'warn', build: { outDir: folder, emptyOutDir: true } });

const sizes = { plain: 0, brotli: 0 };
for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' }).sort()) {
  if (!/\.(?:css|html|js|svg)$/.test(name)) continue;
  const path = join(folder, name);
  const bytes = readFileSync(path);
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_SIZE_HINT]: bytes.length } });
  if (name.endsWith('.js')) {
    sizes.plain += bytes.length;
    sizes.brotli += Math.min(bytes.length, brotli.length);
  }
  writeIfSmaller(`${path}.br`, brotli, bytes);
  writeIfSmaller(`${path}.gz`, gzipSync(bytes, { level: constants.Z_BEST_COMPRESSION }), bytes);
}
process.stdout.write(`Scripts: ${inKb(sizes.plain)} kB, compressed ${inKb(sizes.brotli)} kB.\n`);

function writeIfSmaller(path: string, compressed: Uint8Array, plain: Uint8Array): void {
  if (compressed.length < plain.length) writeFileSync(path, compressed);
}

function inKb(bytes: number): string {
  return (bytes / 1000).toFixed(1);
}
