import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CacheEntry } from '../cache/entry.ts';
import { hashValues } from '../hash-inputs.ts';
import { ensureStep, type StepContext } from './context.ts';
import { type CpioMember, packCpio } from './cpio.ts';

const recipe = '1';

/** The cache entry of the initramfs made of an agent and a kernel's modules. */
export function initramfsEntry(agent: CacheEntry, kernel: CacheEntry): CacheEntry {
  return { kind: 'initramfs', key: hashValues({ recipe, agent: agent.key, kernel: kernel.key }) };
}

/** Path of an uncompressed initramfs: the agent as /init, the modules, and empty folders to mount on. */
export async function ensureInitramfs(
  context: StepContext,
  entry: CacheEntry,
  parts: { readonly agentPath: string; readonly modulesPath: string },
): Promise<string> {
  const folder = await ensureStep(context, 'guest initramfs', entry, async (building) => {
    const members: CpioMember[] = ['dev', 'modules', 'newroot', 'proc', 'run', 'sys'].map((path) => {
      return { type: 'directory', path, mode: 0o755 };
    });
    members.push({ type: 'character-device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 });
    members.push({ type: 'character-device', path: 'dev/null', mode: 0o666, major: 1, minor: 3 });
    members.push({ type: 'file', path: 'init', mode: 0o755, bytes: await readFile(parts.agentPath) });
    for (const name of (await readdir(parts.modulesPath)).sort()) {
      members.push({
        type: 'file',
        path: `modules/${name}`,
        mode: 0o644,
        bytes: await readFile(join(parts.modulesPath, name)),
      });
    }
    await writeFile(join(building, 'initrd.img'), packCpio(members));
  });
  return join(folder, 'initrd.img');
}
