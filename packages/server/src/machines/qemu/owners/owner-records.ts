import { createHash } from 'node:crypto';
import { mkdir, readdir, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { writeJsonFile } from '../../../system/json-file.ts';
import { withLock } from '../../../system/lock-file.ts';
import { isSameProcess, processIdentity, readProcessIdentity } from '../jail/proc.ts';

const ownerRecord = z.object({
  /** The data folder, which identifies the owner. */
  dataDir: z.string(),
  /** The owner's last host process. Other versions on the same host read the field under this name. */
  service: processIdentity,
});

type OwnerRecord = z.infer<typeof ownerRecord>;

/** The name of an owner's cgroups. */
export function instanceOf(dataDir: string): string {
  return createHash('sha256').update(dataDir).digest('hex').slice(0, 12);
}

/** Where the cgroups of Mayfly's own processes are, beside the cgroups of data folders, whose names are hashes: mayfly/processes/<name>. */
export const processesInstance = 'processes';

/** The name of the cgroup of the service of a data folder. */
export function serviceGroupOf(dataDir: string): string {
  return `service-${instanceOf(dataDir)}`;
}

/**
 * The data folders whose host processes have machines, networks or cgroups on this host, or had them when they were last seen. A record is written
 * before anything else is created and removed when nothing is left.
 */
export class OwnerRecords {
  readonly #stateDir: string;

  constructor(stateDir: string) {
    this.#stateDir = stateDir;
  }

  get #folder(): string {
    return join(this.#stateDir, 'owners');
  }

  #path(dataDir: string): string {
    return join(this.#folder, `${instanceOf(dataDir)}.json`);
  }

  /** Excludes host processes that start from those that reclaim what vanished owners left. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    return withLock(join(this.#stateDir, 'owners.lock'), work);
  }

  /** Records that this process is the host process of a data folder. */
  async register(dataDir: string): Promise<void> {
    const identity = readProcessIdentity(process.pid);
    if (!identity) throw new Error('/proc has no entry for this process');
    const record: OwnerRecord = { dataDir, service: identity };
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await this.exclusively(() => writeJsonFile(this.#path(dataDir), record));
  }

  async remove(dataDir: string): Promise<void> {
    await rm(this.#path(dataDir), { force: true });
    await rm(`${this.#path(dataDir)}.new`, { force: true });
  }

  /** The data folders of all recorded owners. */
  async list(): Promise<string[]> {
    return (await this.#readAll()).map(({ dataDir }) => dataDir);
  }

  /** Whether the host process of a data folder is known to be running. */
  async isRunning(dataDir: string): Promise<boolean> {
    return (await this.#readAll()).some((record) => record.dataDir === dataDir && isSameProcess(record.service));
  }

  async #readAll(): Promise<OwnerRecord[]> {
    const names = (await readdir(this.#folder).catch(() => [])).filter((name) => name.endsWith('.json'));
    const texts = await Promise.all(names.map((name) => readFile(join(this.#folder, name), 'utf8').catch(() => '')));
    return texts.flatMap((text) => {
      const record = ownerRecord.safeParse(parseJson(text));
      return record.success ? [record.data] : [];
    });
  }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
