import { mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { EgressPolicy } from './egress/policy.ts';
import { readJsonFile, writeJsonFile } from './host/json-file.ts';

const networkRecordSchema = z.object({
  /** Whose it is: a service sweeps only its own. */
  owner: z.string(),
  egress: z.union([z.literal('all'), z.literal('none'), z.object({ allow: z.array(z.string()) })]),
  /** Whether the rules in the namespace are those of `egress`; if not, a change was cut short. */
  isApplied: z.boolean(),
});

/** What is known of one slot's network beyond the service's life. Written before the network is made, removed after it is gone. */
export interface NetworkRecord {
  readonly owner: string;
  readonly egress: EgressPolicy;
  readonly isApplied: boolean;
}

const fileNamePattern = /^(\d+)\.json$/;

/** The records of all slots, in one folder of the host's state. */
export class NetworkRecords {
  readonly #folder: string;

  constructor(stateDir: string) {
    this.#folder = join(stateDir, 'networks');
  }

  #path(slot: number): string {
    return join(this.#folder, `${slot}.json`);
  }

  async write(slot: number, record: NetworkRecord): Promise<void> {
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await writeJsonFile(this.#path(slot), record);
  }

  /** The record of a slot; undefined when there is none. */
  read(slot: number): Promise<NetworkRecord | undefined> {
    return readJsonFile(this.#path(slot), networkRecordSchema);
  }

  async remove(slot: number): Promise<void> {
    await rm(this.#path(slot), { force: true });
  }

  /** The slots that one owner has records of. */
  async slotsOf(owner: string): Promise<number[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const slots = names.flatMap((name) => fileNamePattern.exec(name)?.[1] ?? []).map(Number);
    const records = await Promise.all(slots.map((slot) => this.read(slot).catch(() => undefined)));
    return slots.filter((_, index) => records[index]?.owner === owner);
  }
}
