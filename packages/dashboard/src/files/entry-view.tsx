import { type DirectoryEntry, formatBytes } from '@mayfly/contract';
import { useQuery } from '@tanstack/react-query';
import { Download, FileLock2, PenLine, Trash2 } from 'lucide-react';
import { lazy, type ReactNode, Suspense, useEffect, useRef, useState } from 'react';
import { RequestFailure } from '../api/failure.ts';
import { Button } from '../parts/button.tsx';
import { ErrorNotice, Notice } from '../parts/notice.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { type DownloadOptions, downloadFolder, downloadLargeFile, downloadSmallFile } from './download.ts';
import type { EntryDialog } from './entry-dialogs.tsx';
import { contentQuery, useMaxFileBytes } from './file-requests.ts';
import { imageTypeOf } from './language.ts';
import { readableName } from './names.ts';
import { isExactName, nameOf } from './paths.ts';
import { isText } from './saving.ts';
import { isSpecial } from './tree-view.tsx';
import { ProgressLine } from './uploads.tsx';

const TextEditor = lazy(async () => ({ default: (await import('./text-editor.tsx')).TextEditor }));

/** Larger files are not opened in the editor. */
const maxEditedBytes = 1024 ** 2;

interface FileViewProps {
  readonly id: string;
  readonly path: string;
  /** As it is listed; undefined if its folder cannot be listed. */
  readonly entry: DirectoryEntry | undefined;
  readonly onAct: (dialog: EntryDialog) => void;
  readonly onSaved: () => void;
  /** What a path leads to is a folder. */
  readonly renderFolder: () => ReactNode;
}

/** One file: its text to edit, its picture, or why neither is shown. */
export function FileView({ id, path, entry, onAct, onSaved, renderFolder }: FileViewProps) {
  const maxReadBytes = useMaxFileBytes();
  const size = entry?.size_bytes ?? undefined;
  const isImage = imageTypeOf(nameOf(path)) !== undefined;
  const isTooLarge = size !== undefined && size > (isImage ? maxReadBytes : maxEditedBytes);
  const isOpened = !isTooLarge && !(entry !== undefined && isSpecial(entry)) && isExactName(path);
  const content = useQuery({ ...contentQuery(id, path), enabled: isOpened });
  const isSlow = useDelayed(content.isPending && isOpened);
  if (content.data?.object === 'list') return renderFolder();
  const bytes = content.data?.bytes ?? size;
  const head = (
    <EntryHead
      path={path}
      note={bytes === undefined ? undefined : formatBytes(bytes)}
      actions={
        <>
          <DownloadButton id={id} path={path} what="file" isSmall={bytes !== undefined && bytes <= maxReadBytes} />
          <EntryActions path={path} isFolder={false} onAct={onAct} />
        </>
      }
    />
  );
  return (
    <div className="flex min-h-0 grow flex-col">
      {head}
      {entry?.type === 'symlink' && (
        <p className="border-line border-b bg-panel px-4 py-1.5 text-[0.8rem] text-soft">
          A symbolic link: what it leads to is shown and edited. Renaming and deleting concern the link itself.
        </p>
      )}
      {renderBody()}
    </div>
  );

  function renderBody() {
    if (!isExactName(path)) {
      return (
        <Remark>
          Its name has bytes that are not UTF-8, which the API cannot name. Rename it in a terminal to work with it
          here.
        </Remark>
      );
    }
    if (entry !== undefined && isSpecial(entry))
      return <Remark>A device, socket or pipe: it has no content to show.</Remark>;
    if (isTooLarge) {
      return (
        <Remark>
          With {formatBytes(size)} it is too large to be shown. Download it, or look at parts of it in a terminal.
        </Remark>
      );
    }
    if (content.isPending) return isSlow ? <Loading /> : null;
    if (content.isError) {
      if (content.error instanceof RequestFailure && content.error.type === 'file_too_large') {
        return <Remark>It is too large to be shown. Download it, or look at parts of it in a terminal.</Remark>;
      }
      return (
        <div className="p-4">
          <ErrorNotice
            error={content.error}
            action={<Button onClick={() => void content.refetch()}>Try again</Button>}
          />
        </div>
      );
    }
    const { data } = content;
    if (data.object !== 'file') return null;
    if (isImage) return <Picture name={nameOf(path)} content={data.content} isBase64={data.encoding === 'base64'} />;
    if (data.encoding === 'base64' || !isText(data.content)) {
      return <Remark>It is not text, so it is not shown. Download it to open it.</Remark>;
    }
    if (data.bytes > maxEditedBytes) {
      return <Remark>With {formatBytes(data.bytes)} it is too large for the editor. Download it instead.</Remark>;
    }
    return (
      <Suspense fallback={<Loading />}>
        <TextEditor
          key={`${path} ${content.dataUpdatedAt}`}
          id={id}
          path={path}
          content={data.content}
          onSaved={onSaved}
          onReload={() => void content.refetch()}
        />
      </Suspense>
    );
  }
}

function Loading() {
  return (
    <div role="status" className="grid grow animate-breathe place-items-center text-soft">
      Loading …
    </div>
  );
}

function Remark({ children }: { readonly children: ReactNode }) {
  return (
    <div className="m-auto max-w-md px-6 py-10 text-center">
      <FileLock2 size={28} aria-hidden className="mx-auto mb-3 text-soft" />
      <p className="text-soft">{children}</p>
    </div>
  );
}

interface PictureProps {
  readonly name: string;
  readonly content: string;
  readonly isBase64: boolean;
}

/** An image. As the source of an `<img>`, nothing in it can run or load anything. */
function Picture({ name, content, isBase64 }: PictureProps) {
  const [hasFailed, setHasFailed] = useState(false);
  if (hasFailed) return <Remark>The browser cannot show this image. Download it to open it.</Remark>;
  const data = isBase64 ? `base64,${content}` : `,${encodeURIComponent(content)}`;
  return (
    <div className="relative min-h-0 grow bg-code">
      <img
        src={`data:${imageTypeOf(name) ?? 'image/png'};${isBase64 ? '' : 'charset=utf-8'}${data}`.replace(';,', ',')}
        alt={readableName(name)}
        onError={() => setHasFailed(true)}
        className="absolute inset-4 size-[calc(100%-2rem)] object-scale-down"
      />
    </div>
  );
}

interface EntryHeadProps {
  readonly path: string;
  readonly note: string | undefined;
  readonly actions: ReactNode;
}

/** The name of what is shown, and what can be done with it. */
export function EntryHead({ path, note, actions }: EntryHeadProps) {
  return (
    <div className="flex flex-wrap items-center gap-x-3 gap-y-1 border-line border-b px-3.5 py-1.5">
      <h2 className="min-w-0 grow basis-40 truncate text-sm font-semibold" title={readableName(path)}>
        {path === '/' ? '/' : readableName(nameOf(path))}
        {note !== undefined && <span className="ml-2 font-normal text-soft tabular-nums">{note}</span>}
      </h2>
      <div className="flex items-center">{actions}</div>
    </div>
  );
}

interface EntryActionsProps {
  readonly path: string;
  readonly isFolder: boolean;
  readonly onAct: (dialog: EntryDialog) => void;
}

export function EntryActions({ path, isFolder, onAct }: EntryActionsProps) {
  if (!isExactName(path) || path === '/' || path === '/workspace') return null;
  return (
    <>
      <IconButton label="Rename or move" onClick={() => onAct({ kind: 'move', path })}>
        <PenLine size={16} aria-hidden />
      </IconButton>
      <IconButton label="Delete" isDanger onClick={() => onAct({ kind: 'delete', path, isFolder })}>
        <Trash2 size={16} aria-hidden />
      </IconButton>
    </>
  );
}

interface IconButtonProps {
  readonly label: string;
  readonly isDanger?: boolean;
  readonly isDisabled?: boolean;
  readonly children: ReactNode;
  readonly onClick: () => void;
}

export function IconButton({ label, isDanger = false, isDisabled = false, children, onClick }: IconButtonProps) {
  return (
    <button
      type="button"
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={onClick}
      className={`grid size-8.5 shrink-0 place-items-center rounded-md text-soft hover:bg-panel disabled:opacity-45 ${isDanger ? 'hover:text-red' : 'hover:text-ink'}`}
    >
      {children}
    </button>
  );
}

interface DownloadButtonProps {
  readonly id: string;
  readonly path: string;
  readonly what: 'file' | 'folder';
  /** Whether the file is known to be within what the service reads at once. */
  readonly isSmall?: boolean;
}

/** Downloads a file, or a folder as an archive, and says how far it is. */
export function DownloadButton({ id, path, what, isSmall = false }: DownloadButtonProps) {
  const [running, setRunning] = useState<{ readonly part: number | undefined }>();
  const [error, setError] = useState<unknown>();
  const controller = useRef<AbortController>(undefined);
  useEffect(() => () => controller.current?.abort(), []);
  const isSlow = useDelayed(running !== undefined);
  const start = async () => {
    const abort = new AbortController();
    controller.current = abort;
    setError(undefined);
    setRunning({ part: undefined });
    const options: DownloadOptions = {
      sandboxId: id,
      path,
      signal: abort.signal,
      onProgress: (part) => setRunning({ part }),
    };
    try {
      if (what === 'folder') await downloadFolder(options);
      else await (isSmall ? downloadSmallFile : downloadLargeFile)(options);
    } catch (cause) {
      if (!abort.signal.aborted) setError(cause);
    } finally {
      setRunning(undefined);
    }
  };
  if (!isExactName(path)) return null;
  const label = what === 'folder' ? 'Download as an archive' : 'Download';
  return (
    <>
      {isSlow && (
        <span className="mr-1 flex w-36 items-center gap-2 text-[0.8rem] text-soft">
          <ProgressLine label="Download" part={running?.part} />
          <Button look="quiet" className="h-7 px-2" onClick={() => controller.current?.abort()}>
            Cancel
          </Button>
        </span>
      )}
      <IconButton label={label} isDisabled={running !== undefined} onClick={() => void start()}>
        <Download size={16} aria-hidden />
      </IconButton>
      {error !== undefined && <DownloadError error={error} onClose={() => setError(undefined)} />}
    </>
  );
}

function DownloadError({ error, onClose }: { readonly error: unknown; readonly onClose: () => void }) {
  return (
    <div className="fixed inset-x-4 bottom-5 z-30 mx-auto max-w-xl rounded-lg bg-float shadow-float">
      <Notice kind="error" action={<Button onClick={onClose}>Close</Button>}>
        {error instanceof Error ? error.message : String(error)}
      </Notice>
    </div>
  );
}
