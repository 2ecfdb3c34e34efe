import { chmod, chown, link, lstat, mkdir, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { AgentSocketPaths } from '../../system/unix-sockets.ts';
import { agentSocketsOf, agentsFolderOf, maxSocketPathBytes } from '../protocol/run-folder.ts';

/** The group may pass through, but not list the folder. */
const passFolderMode = 0o710;
const machineFolderMode = 0o750;
const socketMode = 0o660;

export interface AgentSocketsOptions {
  readonly runDir: string;
  /** The group of the service; root's when the service is root. */
  readonly gid: number;
}

/**
 * The agent ports of all machines in the place where the service opens them: `agents/<machine id>/control` and `data` in the run folder, for root
 * and the service's group. They are second names (hard links) of the sockets in the machine's own folder. A machine that an earlier Mayfly
 * launched gets them when it is adopted.
 */
export class AgentSockets {
  readonly #runDir: string;
  readonly #gid: number;

  private constructor({ runDir, gid }: AgentSocketsOptions) {
    this.#runDir = runDir;
    this.#gid = gid;
  }

  /** Makes the folders. */
  static async open(options: AgentSocketsOptions): Promise<AgentSockets> {
    const sockets = new AgentSockets(options);
    await makeRunFolder(options.runDir, options.gid);
    await makeFolder(agentsFolderOf(options.runDir), passFolderMode, options.gid);
    return sockets;
  }

  /** Gives the agent ports of a machine their second names. Can be repeated. */
  async share(id: string, sockets: AgentSocketPaths): Promise<void> {
    const shared = agentSocketsOf(this.#runDir, id);
    if (Buffer.byteLength(shared.control) > maxSocketPathBytes) {
      throw new Error(`The path ${shared.control} is too long for a unix socket. Choose a shorter MAYFLY_DATA_DIR.`);
    }
    await makeFolder(this.#folderOf(id), machineFolderMode, this.#gid);
    await Promise.all([this.#share(sockets.control, shared.control), this.#share(sockets.data, shared.data)]);
  }

  async remove(id: string): Promise<void> {
    await rm(this.#folderOf(id), { recursive: true, force: true });
  }

  /** The machines that have a folder. */
  async list(): Promise<string[]> {
    return await readdir(agentsFolderOf(this.#runDir));
  }

  #folderOf(id: string): string {
    return join(agentsFolderOf(this.#runDir), id);
  }

  async #share(from: string, to: string): Promise<void> {
    await chown(from, process.getuid?.() ?? 0, this.#gid);
    await chmod(from, socketMode);
    try {
      await link(from, to);
    } catch (error) {
      if (!isExisting(error)) throw error;
      const [wanted, found] = await Promise.all([lstat(from), lstat(to)]);
      if (wanted.ino === found.ino && wanted.dev === found.dev) return;
      await rm(to, { recursive: true });
      await link(from, to);
    }
  }
}

/** Makes the folder of all sockets that the service may open. Can be repeated. */
export async function makeRunFolder(runDir: string, gid: number): Promise<void> {
  await makeFolder(runDir, passFolderMode, gid);
}

async function makeFolder(path: string, mode: number, gid: number): Promise<void> {
  await mkdir(path, { recursive: true, mode: 0o700 });
  await chown(path, process.getuid?.() ?? 0, gid);
  await chmod(path, mode);
}

function isExisting(error: unknown): boolean {
  return error instanceof Error && 'code' in error && error.code === 'EEXIST';
}
