import { decodeBase64, encodeBase64 } from '../api/base64.ts';
import type { DirectoryEntry, WrittenFile } from '../api/resources.ts';
import type { RequestOptions } from '../http/connection.ts';
import type { SandboxCaller } from './sandbox-caller.ts';

interface FileContent {
  readonly content: string;
}

/** The files of a sandbox, up to 8 MiB each. Relative paths are in `/workspace`. */
export class Files {
  readonly #caller: SandboxCaller;

  constructor(caller: SandboxCaller) {
    this.#caller = caller;
  }

  /** The content of a text file. Throws a ReadFailedError if it is not UTF-8. */
  async read(path: string, options: RequestOptions = {}): Promise<string> {
    const { content } = await this.#get<FileContent>({ path, encoding: 'utf8' }, options);
    return content;
  }

  /** The content of a file as bytes. */
  async readBytes(path: string, options: RequestOptions = {}): Promise<Uint8Array<ArrayBuffer>> {
    const { content } = await this.#get<FileContent>({ path, encoding: 'base64' }, options);
    return decodeBase64(content);
  }

  /** Replaces a file, or creates it with its folders. If it fails, the file is as it was. */
  write(path: string, content: string | Uint8Array, options: RequestOptions = {}): Promise<WrittenFile> {
    const body =
      typeof content === 'string' ? { path, content } : { path, content: encodeBase64(content), encoding: 'base64' };
    return this.#caller.request({ method: 'PUT', path: '/files', body, repeatable: true, ...options });
  }

  /** The entries of a folder, sorted by name. */
  async list(path?: string, options: RequestOptions = {}): Promise<readonly DirectoryEntry[]> {
    const { entries } = await this.#get<{ entries: readonly DirectoryEntry[] }>({ path, list: true }, options);
    return entries;
  }

  /** Deletes a file, or with `recursive` a folder. */
  async remove(
    path: string,
    options: RequestOptions & { readonly recursive?: boolean | undefined } = {},
  ): Promise<void> {
    const { recursive, ...others } = options;
    await this.#caller.remove({ path: '/files', query: { path, recursive }, ...others });
  }

  #get<Body>(query: Record<string, string | boolean | undefined>, options: RequestOptions): Promise<Body> {
    return this.#caller.request({ method: 'GET', path: '/files', query, repeatable: true, ...options });
  }
}
