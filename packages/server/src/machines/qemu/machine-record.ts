import { readFile, rename, writeFile } from 'node:fs/promises';
import { sizeNames } from '@mayfly/contract';
import { z } from 'zod';
import { processIdentity } from './jail/process-identity.ts';

const machineRecord = z.object({
  id: z.string(),
  size: z.enum(sizeNames),
  /** The user id and the network slot it holds. */
  lease: z.object({ slot: z.number().int(), uid: z.number().int(), gid: z.number().int(), token: z.string() }),
  /** Absent until its process was started. */
  process: processIdentity.optional(),
});

/** What a machine leaves on disk so that the next service can take it over, or clear it away. */
export type MachineRecord = z.infer<typeof machineRecord>;

/** Writes the record of a machine, whole or not at all. */
export const writeMachineRecord = async (path: string, record: MachineRecord): Promise<void> => {
  await writeFile(`${path}.new`, JSON.stringify(record), { mode: 0o600 });
  await rename(`${path}.new`, path);
};

/** The record of a machine; undefined when there is none that can be read. */
export const readMachineRecord = async (path: string): Promise<MachineRecord | undefined> => {
  const text = await readFile(path, 'utf8').catch(() => undefined);
  if (text === undefined) return undefined;
  try {
    return machineRecord.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
};
