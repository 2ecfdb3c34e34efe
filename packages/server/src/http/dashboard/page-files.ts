import { hash } from 'node:crypto';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { extname, join, relative, sep } from 'node:path';

/** How a file is stored and sent. */
export type Coding = 'br' | 'gzip' | 'identity';

/** One file of the built dashboard. */
export interface PageFile {
  readonly contentType: string;
  /** Of the uncompressed bytes, so the same for every coding, and therefore weak. */
  readonly etag: string;
  readonly bodies: Readonly<Record<'identity', Buffer>> & Readonly<Partial<Record<Coding, Buffer>>>;
}

/** The built dashboard, in memory. */
export interface PageFiles {
  readonly index: PageFile;
  /** By their path below the folder, e.g. `assets/main-3fa9.js`. */
  readonly assets: ReadonlyMap<string, PageFile>;
}

/** Limits for all files together. A build has far less. */
const maxBytes = 64 * 1024 * 1024;
const maxFiles = 2_000;
const compressed = [
  ['br', '.br'],
  ['gzip', '.gz'],
] as const;

const contentTypes: Readonly<Record<string, string>> = {
  '.css': 'text/css; charset=utf-8',
  '.html': 'text/html; charset=utf-8',
  '.ico': 'image/x-icon',
  '.jpg': 'image/jpeg',
  '.js': 'text/javascript; charset=utf-8',
  '.json': 'application/json; charset=utf-8',
  '.map': 'application/json; charset=utf-8',
  '.png': 'image/png',
  '.svg': 'image/svg+xml',
  '.wasm': 'application/wasm',
  '.webp': 'image/webp',
  '.woff2': 'font/woff2',
};

/** Reads the built dashboard with its compressed copies. Undefined if it is not there. Throws if the folder holds something else. */
export function readPageFiles(folder: string): PageFiles | undefined {
  if (!existsSync(join(folder, 'index.html'))) return undefined;
  const paths = readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => relative(folder, join(entry.parentPath, entry.name)));
  if (paths.length > maxFiles) throw new Error(`${folder} holds more than ${maxFiles} files`);
  let bytes = 0;
  const read = (path: string): Buffer => {
    const body = readFileSync(join(folder, path));
    bytes += body.length;
    if (bytes > maxBytes) throw new Error(`the files in ${folder} are larger than ${maxBytes} bytes`);
    return body;
  };
  const present = new Set(paths);
  const fileAt = (path: string): PageFile => {
    const identity = read(path);
    const copies = compressed.filter(([, suffix]) => present.has(path + suffix));
    const bodies = { identity, ...Object.fromEntries(copies.map(([coding, suffix]) => [coding, read(path + suffix)])) };
    const contentType = contentTypes[extname(path)] ?? 'application/octet-stream';
    return { contentType, etag: `W/"${hash('sha256', identity, 'hex').slice(0, 32)}"`, bodies };
  };
  const isCopy = (path: string) =>
    compressed.some(([, suffix]) => path.endsWith(suffix) && present.has(path.slice(0, -3)));
  const assets = paths.filter((path) => path.startsWith(`assets${sep}`) && !isCopy(path));
  return {
    index: fileAt('index.html'),
    assets: new Map(assets.map((path) => [path.replaceAll(sep, '/'), fileAt(path)])),
  };
}

/** The smallest coding of a file that a client accepts. */
export function chooseCoding({ bodies }: PageFile, acceptEncoding: string | undefined): Coding {
  const weights = new Map(
    (acceptEncoding ?? '').split(',').map((part) => {
      const [name = '', ...parameters] = part.trim().toLowerCase().split(';');
      const weight = parameters.map((parameter) => /^\s*q=([\d.]{1,5})$/.exec(parameter)?.[1]).find(Boolean);
      return [name.trim(), Number(weight ?? 1)] as const;
    }),
  );
  const isAccepted = (coding: Coding) => (weights.get(coding) ?? weights.get('*') ?? 0) > 0;
  return (
    compressed.map(([coding]) => coding).find((coding) => bodies[coding] !== undefined && isAccepted(coding)) ??
    'identity'
  );
}
