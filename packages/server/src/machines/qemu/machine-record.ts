import { readdir, readFile, rename, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sizeNames } from '@mayfly/contract';
import { z } from 'zod';
import { processIdentity } from './jail/process-identity.ts';
import { machineLayout } from './layout.ts';

/** What this Mayfly writes, and the newest it reads. Raise it when a reader of before would take a record for something it is not. */
const recordVersion = 1;

/** Fields that are not known are left alone: a newer Mayfly may add some under the same version. */
const machineRecord = z.object({
  id: z.string(),
  size: z.enum(sizeNames),
  /** The user id and the network slot it holds. */
  lease: z.object({ slot: z.number().int(), uid: z.number().int(), gid: z.number().int(), token: z.string() }),
  /** Absent until its process was started. */
  process: processIdentity.optional(),
});

/** Records of before there were versions have none. */
const versioned = z.object({ version: z.number().int().default(1) });

/** What a machine leaves on disk so that the next service can take it over, or clear it away. */
export type MachineRecord = z.infer<typeof machineRecord>;

/** A record that only a newer Mayfly can read. Whatever it speaks of is to be left alone. */
export class NewerMachineRecord extends Error {
  override readonly name = 'NewerMachineRecord';

  constructor(path: string, version: number) {
    super(
      `${path} was written by a newer Mayfly (version ${version} of the record; this one reads up to ${recordVersion}), and its machine may still ` +
        'run. Nothing was touched. Start the newer Mayfly again, or end its sandboxes with it (npm run destroy) before you go back to this one.',
    );
  }
}

/** Writes the record of a machine, whole or not at all. */
export const writeMachineRecord = async (path: string, record: MachineRecord): Promise<void> => {
  await writeFile(`${path}.new`, JSON.stringify({ version: recordVersion, ...record }), { mode: 0o600 });
  await rename(`${path}.new`, path);
};

/** The record of a machine; undefined when there is none that can be read. Fails with NewerMachineRecord on one that only a newer Mayfly reads. */
export const readMachineRecord = async (path: string): Promise<MachineRecord | undefined> => {
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
};

/** Fails with NewerMachineRecord when a machine in a folder has a record that only a newer Mayfly can read. */
export const refuseNewerRecords = async (machinesDir: string): Promise<void> => {
  const ids = await readdir(machinesDir);
  await Promise.all(ids.map((id) => readMachineRecord(machineLayout(join(machinesDir, id)).recordPath)));
};
