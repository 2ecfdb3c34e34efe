import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeNames } from '@mayfly/contract';
import { z } from 'zod';
import { writeJsonFile } from '../../system/json-file.ts';
import type { AgentSocketPaths } from '../../system/unix-sockets.ts';
import { maxSocketPathBytes } from '../protocol/run-folder.ts';
import { processIdentity } from './jail/proc.ts';
import { machineRequirements } from './snapshots/snapshot-folder.ts';

/** The unix sockets of one machine. */
interface MachineSockets extends AgentSocketPaths {
  readonly qmp: string;
}

/** The paths of one machine's files. */
export interface MachineLayout {
  readonly folder: string;
  readonly diskPath: string;
  /** What QEMU prints and, unless the machine boots to become a template, the kernel of its guest. */
  readonly logPath: string;
  readonly consolePath: string;
  /** Links to the files that it was launched from, if that was a snapshot. */
  readonly originFolder: string;
  /** Links to the memory that was saved last, if it was ever saved. */
  readonly savedFolder: string;
  /** Where QEMU writes its memory during a save. */
  readonly memoryPath: string;
  /** Exists while the machine is stopped for a save, and goes on after it. */
  readonly stoppedPath: string;
  readonly recordPath: string;
  readonly sockets: MachineSockets;
}

/** The files of a machine in its folder. Throws when the folder's path is too long for a unix socket. */
export function machineLayout(folder: string): MachineLayout {
  const sockets = { qmp: join(folder, 'qmp'), control: join(folder, 'control'), data: join(folder, 'data') };
  if (Buffer.byteLength(sockets.control) > maxSocketPathBytes) {
    throw new Error(`The path ${folder} is too long for a unix socket. Choose a shorter MAYFLY_DATA_DIR.`);
  }
  return {
    folder,
    diskPath: join(folder, 'disk.qcow2'),
    logPath: join(folder, 'qemu.log'),
    consolePath: join(folder, 'console.log'),
    originFolder: join(folder, 'origin'),
    savedFolder: join(folder, 'saved'),
    memoryPath: join(folder, 'memory'),
    stoppedPath: join(folder, 'stopped'),
    recordPath: join(folder, 'machine.json'),
    sockets,
  };
}

/**
 * The version that is written, and the newest that can be read. Increase it when older versions of Mayfly would misread the record, or would not
 * find the database that its machine is in: they destroy machines without a sandbox. Version 2: the database is in the folder "service" of the
 * data folder. The fields are the same as in version 1.
 */
const recordVersion = 2;

/** Unknown fields are ignored: a newer Mayfly may add fields without increasing the version. */
const machineRecord = z.object({
  id: z.string(),
  size: z.enum(sizeNames),
  /** Its user id and network slot. */
  lease: z.object({ slot: z.number().int(), uid: z.number().int(), gid: z.number().int(), token: z.string() }),
  /** The base that it was launched from; absent for machines that were launched from a snapshot or by an earlier Mayfly. */
  base: z
    .string()
    .regex(/^[a-z0-9][a-z0-9._-]{0,100}$/)
    .optional(),
  /** What a copy of it needs; absent for machines of an earlier Mayfly. The engine of the host may be another one since its launch. */
  requirements: machineRequirements.optional(),
  /** Absent until the process was started. */
  process: processIdentity.optional(),
});

/** The first records had no version. */
const versioned = z.object({ version: z.number().int().default(1) });

/** The file by which the next host process adopts a machine or removes what it left. */
export type MachineRecord = z.infer<typeof machineRecord>;

/** A record that only a newer Mayfly can read. Its machine must not be touched. */
export class NewerMachineRecord extends Error {
  override readonly name = 'NewerMachineRecord';

  constructor(path: string, version: number) {
    super(
      `${path} was written by a newer Mayfly (record version ${version}; this Mayfly reads versions up to ${recordVersion}). ` +
        'Its machine may still be running. Nothing was changed. Start the newer Mayfly again, or destroy its sandboxes with it ' +
        '(npm run destroy) before you return to this version.',
    );
  }
}

/** Writes the record of a machine atomically. */
export async function writeMachineRecord(path: string, record: MachineRecord): Promise<void> {
  await writeJsonFile(path, { version: recordVersion, ...record });
}

/** Writes a record that an earlier Mayfly wrote in the present version, so that the earlier one does not take the machine for an orphan. */
export async function updateMachineRecord(path: string, record: MachineRecord): Promise<void> {
  const { version } = versioned.parse(JSON.parse(await readFile(path, 'utf8')));
  if (version < recordVersion) await writeMachineRecord(path, record);
}

/** Reads the record of a machine; undefined when there is none or it is malformed. Throws NewerMachineRecord. */
export async function readMachineRecord(path: string): Promise<MachineRecord | undefined> {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  let content: unknown;
  try {
    content = JSON.parse(text);
  } catch {
    return undefined;
  }
  const version = versioned.safeParse(content).data?.version ?? 0;
  if (version > recordVersion) throw new NewerMachineRecord(path, version);
  return machineRecord.safeParse(content).data;
}

/** Throws NewerMachineRecord when any machine of the folder has a record that only a newer Mayfly can read. */
export async function refuseNewerRecords(machinesDir: string): Promise<void> {
  const ids = await readdir(machinesDir);
  await Promise.all(ids.map((id) => readMachineRecord(machineLayout(join(machinesDir, id)).recordPath)));
}
