import { randomUUID } from 'node:crypto';
import { mkdirSync } from 'node:fs';
import { dirname } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { hostStateDir, slotCount } from '../network/plan/address-plan.ts';
import { isSameProcess, type ProcessIdentity, processIdentity, readProcessIdentity, uidsInUse } from './proc.ts';

/** A user and group id that no other machine on this host has. */
export interface UidLease {
  /** Counts from 0; as unique on the host as the uid. */
  readonly slot: number;
  readonly uid: number;
  readonly gid: number;
  /** Differs for every lease, also between leases of the same uid. */
  readonly token: string;
}

export interface UidRange {
  /** The database with the leases of the whole host. */
  readonly databasePath: string;
  readonly firstUid: number;
  readonly slots: number;
}

/** The range that all host processes of a host share, whatever their data folders. */
export const hostUidRange: UidRange = {
  databasePath: `${hostStateDir}/uid-leases.db`,
  firstUid: 2_000_000,
  slots: slotCount,
};

/** Waits at most this long for a transaction of another host process; one takes less than a millisecond. */
const busyTimeoutMs = 5_000;

/** Neither a killed process nor a power cut corrupts the file, and a commit does not wait for the disk: after a reboot no lease is valid. */
const pragmas = 'PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL';

const schema = `
  CREATE TABLE IF NOT EXISTS lease (
    uid INTEGER PRIMARY KEY,
    token TEXT NOT NULL,
    -- The data folder of the host process that holds the lease.
    data_folder TEXT NOT NULL,
    -- The identity of that process, as JSON.
    holder TEXT NOT NULL
  ) STRICT`;

/** The user ids of machines, leased from a database that all host processes of a host share. */
export class UidLeases implements Disposable {
  readonly #db: DatabaseSync;
  readonly #dataDir: string;
  readonly #range: UidRange;
  readonly #holder: string;
  /** Uids in the range that processes without a lease run under, such as machines of an earlier version. Never handed out. */
  #unleasedInUse: Set<number> | undefined;

  constructor(dataDir: string, range: UidRange = hostUidRange) {
    const holder = readProcessIdentity(process.pid);
    if (!holder) throw new Error('/proc has no entry for this process');
    this.#dataDir = dataDir;
    this.#range = range;
    this.#holder = JSON.stringify(holder);
    mkdirSync(dirname(range.databasePath), { recursive: true, mode: 0o700 });
    this.#db = new DatabaseSync(range.databasePath, { timeout: busyTimeoutMs });
    this.#db.exec(pragmas);
    this.#transaction(() => this.#db.exec(schema));
  }

  /** Leases the lowest free uid. Throws when none is free. */
  acquire(): UidLease {
    return this.#transaction(() => {
      this.#unleasedInUse ??= this.#scanUnleased();
      const uid = this.#lowestFree() ?? (this.#reclaim().length > 0 ? this.#lowestFree() : undefined);
      if (uid === undefined)
        throw new Error(`All ${this.#range.slots} user ids from ${this.#range.firstUid} on are taken on this host.`);
      const token = randomUUID();
      this.#insert(uid, token);
      return { slot: uid - this.#range.firstUid, uid, gid: uid, token };
    });
  }

  /** Takes over the lease of a machine that an earlier host process left running. Throws when the uid is leased to another machine. */
  adopt({ uid, token }: UidLease): void {
    this.#transaction(() => {
      const current = this.#db.prepare('SELECT token FROM lease WHERE uid = ?').get(uid);
      if (current && current.token !== token) throw new Error(`User id ${uid} is leased to another machine.`);
      this.#db.prepare('DELETE FROM lease WHERE uid = ?').run(uid);
      this.#insert(uid, token);
    });
    this.#unleasedInUse?.delete(uid);
  }

  /** Releases a uid once no process and no file of its machine is left. Releasing it twice is no error. */
  release({ uid, token }: Pick<UidLease, 'uid' | 'token'>): void {
    this.#transaction(() => {
      this.#db.prepare('DELETE FROM lease WHERE uid = ? AND token = ?').run(uid, token);
    });
  }

  /** Releases the uids whose holder is gone and under which no process runs. Returns them. */
  reclaim(): number[] {
    return this.#transaction(() => this.#reclaim());
  }

  /** The data folders that have leases. */
  dataFolders(): string[] {
    const rows = this.#db.prepare('SELECT DISTINCT data_folder FROM lease').all();
    return rows.map((row) => String(row.data_folder));
  }

  /** Whether a running host process holds leases of a data folder. */
  isHeld(dataDir: string): boolean {
    const rows = this.#db.prepare('SELECT DISTINCT holder FROM lease WHERE data_folder = ?').all(dataDir);
    return rows.some(({ holder }) => isSameProcess(parseHolder(String(holder))));
  }

  /**
   * Holds the leases of a data folder whose earlier host process is gone, and leases the given slots for it, so that nobody else uses them.
   * Leaves out slots that are leased for another data folder. Returns all leases of the data folder.
   */
  takeOver(dataDir: string, slots: readonly number[]): UidLease[] {
    const { firstUid } = this.#range;
    return this.#transaction(() => {
      const insert = this.#db.prepare(
        'INSERT OR IGNORE INTO lease (uid, token, data_folder, holder) VALUES (?, ?, ?, ?)',
      );
      for (const slot of slots) insert.run(firstUid + slot, randomUUID(), dataDir, this.#holder);
      this.#db.prepare('UPDATE lease SET holder = ? WHERE data_folder = ?').run(this.#holder, dataDir);
      const rows = this.#db.prepare('SELECT uid, token FROM lease WHERE data_folder = ?').all(dataDir);
      return rows.map(({ uid, token }) => ({
        slot: Number(uid) - firstUid,
        uid: Number(uid),
        gid: Number(uid),
        token: String(token),
      }));
    });
  }

  /** Releases the leases of a data folder under whose uids no process runs. Returns the uids. */
  releaseUnused(dataDir: string): number[] {
    return this.#transaction(() => {
      const inUse = uidsInUse();
      const rows = this.#db.prepare('SELECT uid FROM lease WHERE data_folder = ?').all(dataDir);
      const free = rows.map(({ uid }) => Number(uid)).filter((uid) => !inUse.has(uid));
      const remove = this.#db.prepare('DELETE FROM lease WHERE uid = ?');
      for (const uid of free) remove.run(uid);
      return free;
    });
  }

  #reclaim(): number[] {
    const isAlive = new Map<string, boolean>();
    const inUse = uidsInUse();
    const free = this.#leases().filter(({ uid, holder }) => {
      if (!isAlive.has(holder)) isAlive.set(holder, isSameProcess(parseHolder(holder)));
      return !isAlive.get(holder) && !inUse.has(uid);
    });
    const remove = this.#db.prepare('DELETE FROM lease WHERE uid = ?');
    for (const { uid } of free) remove.run(uid);
    this.#unleasedInUse = this.#scanUnleased(inUse);
    return free.map(({ uid }) => uid);
  }

  #insert(uid: number, token: string): void {
    const insert = this.#db.prepare('INSERT INTO lease (uid, token, data_folder, holder) VALUES (?, ?, ?, ?)');
    insert.run(uid, token, this.#dataDir, this.#holder);
  }

  #lowestFree(): number | undefined {
    const taken = new Set(this.#leases().map(({ uid }) => uid));
    for (let uid = this.#range.firstUid; uid < this.#range.firstUid + this.#range.slots; uid += 1) {
      if (!taken.has(uid) && !this.#unleasedInUse?.has(uid)) return uid;
    }
    return undefined;
  }

  #scanUnleased(inUse = uidsInUse()): Set<number> {
    const leased = new Set(this.#leases().map(({ uid }) => uid));
    return new Set([...inUse].filter((uid) => !leased.has(uid)));
  }

  #leases(): { uid: number; holder: string }[] {
    const rows = this.#db.prepare('SELECT uid, holder FROM lease').all();
    return rows.map(({ uid, holder }) => ({ uid: Number(uid), holder: String(holder) }));
  }

  /** When the process is killed meanwhile, the next user of the database rolls the transaction back. */
  #transaction<T>(work: () => T): T {
    this.#db.exec('BEGIN IMMEDIATE');
    try {
      const result = work();
      this.#db.exec('COMMIT');
      return result;
    } catch (error) {
      this.#db.exec('ROLLBACK');
      throw error;
    }
  }

  [Symbol.dispose](): void {
    if (this.#db.isOpen) this.#db.close();
  }
}

function parseHolder(holder: string): ProcessIdentity {
  return processIdentity.parse(JSON.parse(holder));
}
