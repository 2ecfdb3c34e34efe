import { copyFile, readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { runCommand } from '../run-command.ts';
import { SetupError } from '../setup-error.ts';

/** A module's name from its file: dashes and underscores are the same to the kernel. */
export function moduleName(file: string): string {
  return basename(file)
    .replace(/\.ko(\.\w+)?$/, '')
    .replaceAll('-', '_');
}

/** The modules that must be loaded before this one, read from the module itself. */
export function readDependencies(module: Buffer): readonly string[] {
  const names: string[] = [];
  for (const [, field, value = ''] of module.toString('latin1').matchAll(/\0(depends|softdep)=([^\0]*)/g)) {
    // softdep=pre: a b post: c
    const text = field === 'depends' ? value : (/pre:([^:]*?)(?:\s\w+:|$)/.exec(value)?.[1] ?? '');
    names.push(...text.split(/[\s,]+/).filter((name) => name !== ''));
  }
  return names.map(moduleName);
}

/** Copies the wanted modules and all they depend on, unpacked, and writes `order`; those built into the kernel are left out. */
export async function collectModules(tree: string, wanted: readonly string[], target: string): Promise<void> {
  const builtin = new Set((await readFile(join(tree, 'modules.builtin'), 'utf8')).trim().split('\n').map(moduleName));
  const files = new Map<string, string>();
  for (const entry of await readdir(join(tree, 'kernel'), { recursive: true, withFileTypes: true })) {
    if (entry.isFile()) files.set(moduleName(entry.name), join(entry.parentPath, entry.name));
  }
  const order: string[] = [];
  const visit = async (name: string, optional: boolean): Promise<void> => {
    if (builtin.has(name) || order.includes(name)) return;
    const file = files.get(name);
    if (file === undefined) {
      if (optional) return;
      throw new SetupError(`the guest kernel has no module ${name}`);
    }
    const unpacked = join(target, `${name}.ko`);
    await unpack(file, unpacked);
    for (const dependency of readDependencies(await readFile(unpacked))) await visit(dependency, true);
    order.push(name);
  };
  for (const name of wanted) await visit(name, name.startsWith('crc32c'));
  await writeFile(join(target, 'order'), order.map((name) => `${name}.ko\n`).join(''));
}

async function unpack(file: string, target: string): Promise<void> {
  await copyFile(file, `${target}.packed`);
  const packer = /\.ko\.(\w+)$/.exec(file)?.[1];
  const script = packer === 'xz' ? 'xz -dc' : packer === 'zst' ? 'zstd -dc' : packer === 'gz' ? 'gzip -dc' : 'cat';
  await runCommand('sh', ['-c', `${script} < "$1.packed" > "$1" && rm "$1.packed"`, 'sh', target]);
}
