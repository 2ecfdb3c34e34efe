import { type GuestAgent, type GuestEntry, type GuestListing, GuestRefusal } from '../../src/core/ports/guest-agent.ts';

type FileCalls = Pick<GuestAgent, 'readFile' | 'writeFile' | 'listFiles' | 'deleteFile'>;

/** The files of stub machines by absolute path, and the directories that a test defines. */
export class StubFiles implements FileCalls {
  readonly contents = new Map<string, Buffer>();
  readonly directories = new Map<string, readonly GuestEntry[]>([['/workspace', []]]);
  /** Runs before every call; a test makes it throw, wait or hang. */
  before: () => Promise<void> = async () => {};

  /** Makes every call fail with this code. */
  refuse(code: string, message = 'the agent says no'): void {
    this.before = () => Promise.reject(new GuestRefusal(code, message));
  }

  async readFile(path: string, maxBytes: number): Promise<Buffer> {
    await this.before();
    if (this.directories.has(path)) throw new GuestRefusal('is_directory', `${path} is a directory`);
    const content = this.#existing(path);
    if (content.length > maxBytes) throw new GuestRefusal('too_large', `${path} is too large`);
    return content;
  }

  async writeFile(path: string, content: Buffer, maxBytes: number): Promise<{ sizeBytes: number }> {
    await this.before();
    if (content.length > maxBytes) throw new GuestRefusal('too_large', `${path} is too large`);
    if (this.directories.has(path)) throw new GuestRefusal('is_directory', `${path} is a directory`);
    this.contents.set(path, content);
    return { sizeBytes: content.length };
  }

  async listFiles(path: string, maxEntries: number): Promise<GuestListing> {
    await this.before();
    const entries = this.directories.get(path);
    if (entries === undefined) {
      this.#existing(path);
      throw new GuestRefusal('not_directory', `${path} is not a directory`);
    }
    return { entries: entries.slice(0, maxEntries), truncated: entries.length > maxEntries };
  }

  async deleteFile(path: string, recursive: boolean): Promise<void> {
    await this.before();
    if (this.directories.has(path) && !recursive) throw new GuestRefusal('is_directory', `${path} is a directory`);
    if (!this.directories.delete(path)) this.#existing(path);
    this.contents.delete(path);
  }

  #existing(path: string): Buffer {
    const content = this.contents.get(path);
    if (content === undefined) throw new GuestRefusal('not_found', `${path} does not exist`);
    return content;
  }
}
