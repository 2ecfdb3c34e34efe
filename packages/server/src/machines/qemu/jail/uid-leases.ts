import { existsSync, mkdirSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { isSameProcess, type ProcessIdentity, readProcessIdentity } from './process-identity.ts';
import { createLease, readLease, removeLease } from './uid-lease-file.ts';
import { uidsInUse } from './uids-in-use.ts';

/** A user and group id that no other machine on this host has. */
export interface UidLease {
  /** 0 and up; as unique on the host as the uid. */
  readonly slot: number;
  readonly uid: number;
  readonly gid: number;
  readonly token: string;
}

export interface UidRange {
  /** Where the leases of the whole host are; gone when it restarts, like the machines. */
  readonly folder: string;
  readonly firstUid: number;
  readonly slots: number;
}

/** The same for every service on a host, whatever its data folder. */
export const hostUidRange: UidRange = { folder: '/run/mayfly/uids', firstUid: 2_000_000, slots: 4096 };

/** How long another process may take to remove a lease, in milliseconds. */
const removeDeadlineMs = 1_000;

/** The user ids of machines, one file each, shared by all services of a host. */
export class UidLeases {
  readonly #range: UidRange;
  readonly #owner: ProcessIdentity;

  constructor(range: UidRange = hostUidRange) {
    const owner = readProcessIdentity(process.pid);
    if (!owner) throw new Error('/proc does not say which process this is');
    this.#range = range;
    this.#owner = owner;
  }

  /** Takes the lowest free uid for the machine in a folder. Fails when all are taken. */
  acquire(machineFolder: string): UidLease {
    mkdirSync(this.#range.folder, { recursive: true, mode: 0o700 });
    const taken = new Set(readdirSync(this.#range.folder));
    for (let slot = 0; slot < this.#range.slots; slot += 1) {
      const uid = this.#range.firstUid + slot;
      if (taken.has(String(uid))) continue;
      const content = createLease(this.#path(uid), { machineFolder, owner: this.#owner });
      if (content) return this.#lease(uid, content.token);
    }
    throw new Error(`all ${this.#range.slots} user ids for machines are taken on this host`);
  }

  /** The lease of the machine in a folder, whoever took it: for a service that adopts the machine. */
  find(machineFolder: string): UidLease | undefined {
    for (const uid of this.#uids()) {
      const content = readLease(this.#path(uid));
      if (content && content !== 'unfinished' && content.machineFolder === machineFolder) {
        return this.#lease(uid, content.token);
      }
    }
    return undefined;
  }

  /** Gives a uid back, once no process and no file of its machine is left. Giving it back twice is no error. */
  async release({ uid, token }: Pick<UidLease, 'uid' | 'token'>): Promise<void> {
    for (let waitedMs = 0; !removeLease(this.#path(uid), token); waitedMs += 1) {
      if (waitedMs >= removeDeadlineMs) throw new Error(`the lease of uid ${uid} cannot be removed`);
      await wait(1);
    }
  }

  /** Frees the uids of machines that are gone: no folder, no process, and the service that took them has ended. Returns them. */
  async reclaim(): Promise<number[]> {
    const gone = this.#uids().flatMap((uid) => {
      const content = readLease(this.#path(uid));
      if (!content) return [];
      if (content === 'unfinished') return [{ uid, token: 'unfinished' }];
      const isGone = !existsSync(content.machineFolder) && !isSameProcess(content.owner);
      return isGone ? [{ uid, token: content.token }] : [];
    });
    if (gone.length === 0) return [];
    const inUse = uidsInUse();
    const free = gone.filter(({ uid }) => !inUse.has(uid));
    // One that cannot be removed stays taken; it must not keep the service from starting.
    const results = await Promise.allSettled(free.map((lease) => this.release(lease)));
    return free.flatMap(({ uid }, index) => (results[index]?.status === 'fulfilled' ? [uid] : []));
  }

  #path(uid: number): string {
    return join(this.#range.folder, String(uid));
  }

  #lease(uid: number, token: string): UidLease {
    return { slot: uid - this.#range.firstUid, uid, gid: uid, token };
  }

  #uids(): number[] {
    if (!existsSync(this.#range.folder)) return [];
    return readdirSync(this.#range.folder)
      .filter((name) => /^\d+$/.test(name))
      .map(Number)
      .filter((uid) => uid >= this.#range.firstUid && uid < this.#range.firstUid + this.#range.slots);
  }
}
