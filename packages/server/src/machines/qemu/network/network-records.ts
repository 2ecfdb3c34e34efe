import { mkdir, readdir, readFile, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import type { EgressPolicy } from '../../../core/ports/machine-driver.ts';
import { writeJsonFile } from '../../../system/json-file.ts';

const networkRecordSchema = z.object({
  owner: z.string(),
  egress: z.union([z.literal('all'), z.literal('none'), z.object({ allow: z.array(z.string()) })]),
  isApplied: z.boolean(),
  rulesDigest: z.string().optional(),
});

/** The record of one slot's network. It is written before the network is created and removed after the network. */
export interface NetworkRecord {
  /** The host process that the network belongs to, by its data folder. A host process sweeps only its own. */
  readonly owner: string;
  readonly egress: EgressPolicy;
  /** Whether the namespace's rules match `egress`. False if a change was interrupted. */
  readonly isApplied: boolean;
  /** The digest of the namespace's other rules. Earlier versions did not record it. */
  readonly rulesDigest?: string | undefined;
}

const fileNamePattern = /^(\d+)\.json$/;
const unfinishedNamePattern = /^\d+\.json\.new$/;

/** A file that cannot be read is still being written only if it is younger than this. */
const unfinishedMaxAgeMs = 60_000;

/** The network records of all slots of the host, one file each. */
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

  /** The record of a slot, or undefined if it has none. */
  read(slot: number): Promise<NetworkRecord | undefined> {
    return readJsonFile(this.#path(slot), networkRecordSchema);
  }

  async remove(slot: number): Promise<void> {
    await rm(this.#path(slot), { force: true });
  }

  /** The slots whose networks belong to an owner. */
  async slotsOf(owner: string): Promise<number[]> {
    return (await this.#readAll()).filter((entry) => entry.owner === owner).map(({ slot }) => slot);
  }

  /** The owners of all networks. */
  async listOwners(): Promise<string[]> {
    return [...new Set((await this.#readAll()).map(({ owner }) => owner))];
  }

  async #readAll(): Promise<{ slot: number; owner: string }[]> {
    const names = await readdir(this.#folder).catch(() => []);
    const slots = names.flatMap((name) => fileNamePattern.exec(name)?.[1] ?? []).map(Number);
    const records = await Promise.all(slots.map((slot) => this.read(slot).catch(() => undefined)));
    return slots.flatMap((slot, index) => {
      const owner = records[index]?.owner;
      return owner === undefined ? [] : [{ slot, owner }];
    });
  }

  /** Removes the files that an earlier process of this owner was writing when it was killed. */
  async removeUnfinished(owner: string): Promise<void> {
    const names = await readdir(this.#folder).catch(() => []);
    const paths = names.filter((name) => unfinishedNamePattern.test(name)).map((name) => join(this.#folder, name));
    await Promise.all(
      paths.map(async (path) => {
        const record = await readJsonFile(path, networkRecordSchema).catch(() => undefined);
        const isAbandoned = record ? record.owner === owner : await isOlderThan(path, unfinishedMaxAgeMs);
        if (isAbandoned) await rm(path, { force: true });
      }),
    );
  }
}

async function isOlderThan(path: string, ageMs: number): Promise<boolean> {
  const modifiedMs = (await stat(path).catch(() => undefined))?.mtimeMs;
  return modifiedMs !== undefined && Date.now() - modifiedMs > ageMs;
}

const hostRecordSchema = z.object({
  /** The range of link addresses, as a CIDR block. */
  range: z.string(),
  /** Interfaces whose forwarding was off before Mayfly switched it on. */
  switchedOn: z.array(z.string()),
  /** Whether Mayfly mounted /run/netns. */
  madeNetnsMount: z.boolean(),
  /** The digest of the loaded nftables table. Empty until one is loaded. */
  rulesetDigest: z.string(),
});

/** The changes that Mayfly made to this host. All host processes of the host share the record, under the host's lock. */
export type HostRecord = Readonly<z.infer<typeof hostRecordSchema>>;

/** The host's record, or undefined if the host is not set up. */
export function readHostRecord(path: string): Promise<HostRecord | undefined> {
  return readJsonFile(path, hostRecordSchema);
}

export function writeHostRecord(path: string, record: HostRecord): Promise<void> {
  return writeJsonFile(path, record);
}

async function readJsonFile<T>(path: string, schema: z.ZodType<T>): Promise<T | undefined> {
  const text = await readFile(path, 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  return text === undefined ? undefined : schema.parse(JSON.parse(text));
}
