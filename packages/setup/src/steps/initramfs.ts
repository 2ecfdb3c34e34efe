import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { CacheEntry } from '../cache/entry.ts';
import { hashValues } from '../cache/keys.ts';
import { ensureStep, type StepContext } from './step.ts';

const recipe = '1';

/** The cache entry of the initramfs for an agent and a kernel's modules. */
export function initramfsEntry(agent: CacheEntry, kernel: CacheEntry): CacheEntry {
  return { kind: 'initramfs', key: hashValues({ recipe, agent: agent.key, kernel: kernel.key }) };
}

/** Path of an uncompressed initramfs: the agent as /init, the kernel modules, and empty mount points. */
export async function ensureInitramfs(
  context: StepContext,
  entry: CacheEntry,
  parts: { readonly agentPath: string; readonly modulesPath: string },
): Promise<string> {
  const folder = await ensureStep(context, 'guest initramfs', entry, async (stagingDir) => {
    const members: CpioMember[] = ['dev', 'modules', 'newroot', 'proc', 'run', 'sys'].map((path) => {
      return { type: 'directory', path, mode: 0o755 };
    });
    members.push({ type: 'character-device', path: 'dev/console', mode: 0o600, major: 5, minor: 1 });
    members.push({ type: 'character-device', path: 'dev/null', mode: 0o666, major: 1, minor: 3 });
    members.push({ type: 'file', path: 'init', mode: 0o755, bytes: await readFile(parts.agentPath) });
    for (const name of (await readdir(parts.modulesPath)).sort()) {
      const bytes = await readFile(join(parts.modulesPath, name));
      members.push({ type: 'file', path: `modules/${name}`, mode: 0o644, bytes });
    }
    await writeFile(join(stagingDir, 'initrd.img'), packCpio(members));
  });
  return join(folder, 'initrd.img');
}

/** A member of an archive. All belong to root and have no date, so that equal content gives an equal archive. */
export type CpioMember =
  | { readonly type: 'directory'; readonly path: string; readonly mode: number }
  | { readonly type: 'file'; readonly path: string; readonly mode: number; readonly bytes: Buffer }
  | {
      readonly type: 'character-device';
      readonly path: string;
      readonly mode: number;
      readonly major: number;
      readonly minor: number;
    };

const typeBits = { directory: 0o040000, file: 0o100000, 'character-device': 0o020000 } as const;

/** Packs an archive in the kernel's "newc" format, members in the given order. */
export function packCpio(members: readonly CpioMember[]): Buffer {
  const parts = members.map((member, index) => {
    const bytes = member.type === 'file' ? member.bytes : Buffer.alloc(0);
    const device = member.type === 'character-device' ? member : { major: 0, minor: 0 };
    const links = member.type === 'directory' ? 2 : 1;
    return packMember(member.path, bytes, [
      index + 1,
      typeBits[member.type] | member.mode,
      links,
      device.major,
      device.minor,
    ]);
  });
  return Buffer.concat([...parts, packMember('TRAILER!!!', Buffer.alloc(0), [0, 0, 1, 0, 0])]);
}

type HeaderNumbers = readonly [inode: number, mode: number, links: number, deviceMajor: number, deviceMinor: number];

function packMember(path: string, bytes: Buffer, [inode, mode, links, major, minor]: HeaderNumbers): Buffer {
  const name = Buffer.from(`${path}\0`);
  const owner = 0;
  const date = 0;
  const checksum = 0;
  const fields = [inode, mode, owner, owner, links, date, bytes.length, 0, 0, major, minor, name.length, checksum];
  const header = `070701${fields.map((field) => field.toString(16).padStart(8, '0')).join('')}`;
  return Buffer.concat([padToFour(Buffer.concat([Buffer.from(header), name])), padToFour(bytes)]);
}

function padToFour(bytes: Buffer): Buffer {
  return Buffer.concat([bytes, Buffer.alloc((4 - (bytes.length % 4)) % 4)]);
}
