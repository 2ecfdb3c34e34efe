import { deletePath, readBytes, runWithPaths } from './file-requests.ts';
import { nameOf, parentOf } from './paths.ts';

/** What the page collects in memory at most. */
const maxBytes = 512 * 1024 ** 2;
/** A part of a large file, which the service reads in one request. */
const partBytes = 6 * 1024 ** 2;

export interface DownloadOptions {
  readonly sandboxId: string;
  readonly path: string;
  readonly signal: AbortSignal;
  /** From 0 to 1; undefined while it is being prepared. */
  readonly onProgress: (part: number | undefined) => void;
}

/** Prints the folder of the parts, their number and their bytes. They are removed if something fails. */
const split = (source: string, failure: string) => `
set -u
parts=$(mktemp -d /var/tmp/mayfly-download-XXXXXXXXXX) || exit 1
fail() { rm -rf -- "$parts"; echo "$1" >&2; exit 1; }
${source} | head -c ${maxBytes + 1} | split -b ${partBytes} -d -a 4 - "$parts/" || fail "There is no room for it on the disk of the sandbox."
status=\${PIPESTATUS[0]}
bytes=$(cat "$parts"/* 2>/dev/null | wc -c)
[ "$bytes" -le ${maxBytes} ] || fail "It is larger than ${maxBytes / 1024 ** 2} MiB. Download a part of it, or use the command line."
${failure}
printf '%s\\n%s\\n%s\\n' "$parts" "$(ls "$parts" | wc -l)" "$bytes"
`;

const wholeFile = split('cat -- "$MAYFLY_PATH"', '[ "$status" = 0 ] || fail "It could not be read."');
/** Files that change meanwhile, and those that cannot be read, are no reason to give up the others. */
const archive = split(
  'tar -C "$MAYFLY_PARENT" -cz --ignore-failed-read --warning=no-failed-read -- "./$MAYFLY_NAME" 2>/dev/null',
  '[ "$status" -le 1 ] || fail "It could not be packed."',
);

/** Downloads a file whose size is known to be within what the service reads at once. */
export async function downloadSmallFile({ sandboxId, path, signal }: DownloadOptions): Promise<void> {
  save([await readBytes(sandboxId, path, signal)], nameOf(path));
}

/** Downloads a file of any size up to what the page can hold. */
export async function downloadLargeFile(options: DownloadOptions): Promise<void> {
  save(await collectParts(options, wholeFile), nameOf(options.path));
}

/** Downloads a folder as a compressed archive. */
export async function downloadFolder(options: DownloadOptions): Promise<void> {
  save(await collectParts(options, archive), `${nameOf(options.path) || 'root'}.tar.gz`);
}

async function collectParts(options: DownloadOptions, command: string): Promise<readonly Uint8Array<ArrayBuffer>[]> {
  const { sandboxId, path, signal, onProgress } = options;
  onProgress(undefined);
  const name = nameOf(path) || '.';
  const env = { MAYFLY_PATH: path, MAYFLY_PARENT: parentOf(path), MAYFLY_NAME: name };
  const [folder = '', count = '0'] = (await runWithPaths(sandboxId, command, env, signal)).split('\n');
  if (!/^\/var\/tmp\/mayfly-download-\w+$/.test(folder)) throw new Error('The sandbox did not prepare the download.');
  const total = Math.min(Number(count), Math.ceil(maxBytes / partBytes));
  try {
    const parts: Uint8Array<ArrayBuffer>[] = [];
    while (parts.length < total) {
      onProgress(parts.length / total);
      parts.push(await readBytes(sandboxId, `${folder}/${`${parts.length}`.padStart(4, '0')}`, signal));
    }
    return parts;
  } finally {
    await deletePath(sandboxId, folder, true).catch(() => undefined);
  }
}

const keptMs = 60_000;

/** Hands bytes to the browser as a file. It never shows them, whatever they are. */
function save(parts: readonly Uint8Array<ArrayBuffer>[], name: string): void {
  const url = URL.createObjectURL(new Blob([...parts], { type: 'application/octet-stream' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), keptMs);
}
