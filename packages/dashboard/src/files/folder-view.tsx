import { formatBytes } from '@mayfly/contract';
import { FilePlus2, FolderPlus, Upload } from 'lucide-react';
import { type DragEvent, type ReactNode, useRef, useState } from 'react';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import type { EntryDialog } from './entry-dialogs.tsx';
import { DownloadButton, EntryActions, EntryHead, IconButton } from './entry-view.tsx';
import { readableName } from './names.ts';
import { joinPath } from './paths.ts';
import { type Listing, maxShownEntries, sortEntries } from './tree.ts';
import { EntryIcon } from './tree-view.tsx';

interface FolderViewProps {
  readonly id: string;
  readonly path: string;
  readonly listing: Listing;
  readonly showsHidden: boolean;
  readonly onOpen: (path: string) => void;
  readonly onAct: (dialog: EntryDialog) => void;
  readonly onUpload: (files: readonly File[]) => void;
  readonly onRetry: () => void;
}

/** One folder: its entries, and a place to drop files on. */
export function FolderView({ id, path, listing, showsHidden, onOpen, onAct, onUpload, onRetry }: FolderViewProps) {
  const input = useRef<HTMLInputElement>(null);
  const entries = listing.kind === 'entries' ? listing.entries : [];
  const visible = sortEntries(entries.filter(({ name }) => showsHidden || !name.startsWith('.')));
  return (
    <DropZone onUpload={onUpload}>
      <EntryHead
        path={path}
        note={listing.kind === 'entries' ? describeCount(entries.length, entries.length - visible.length) : undefined}
        actions={
          <>
            <IconButton label="New file" onClick={() => onAct({ kind: 'new-file', folder: path })}>
              <FilePlus2 size={16} aria-hidden />
            </IconButton>
            <IconButton label="New folder" onClick={() => onAct({ kind: 'new-folder', folder: path })}>
              <FolderPlus size={16} aria-hidden />
            </IconButton>
            <DownloadButton id={id} path={path} what="folder" />
            <EntryActions path={path} isFolder onAct={onAct} />
            <Button
              className="ml-1.5 h-8 px-3"
              icon={<Upload size={15} aria-hidden />}
              onClick={() => input.current?.click()}
            >
              Upload
            </Button>
            <input
              ref={input}
              type="file"
              multiple
              tabIndex={-1}
              aria-label="Files to upload"
              className="hidden"
              onChange={(event) => {
                onUpload([...(event.target.files ?? [])]);
                // The same file can be chosen again.
                event.target.value = '';
              }}
            />
          </>
        }
      />
      {listing.kind === 'failed' && (
        <div className="p-4">
          <ErrorNotice error={listing.error} action={<Button onClick={onRetry}>Try again</Button>} />
        </div>
      )}
      {listing.kind === 'entries' && visible.length === 0 && (
        <div className="m-auto px-6 py-10 text-center">
          <p className="text-base font-medium">
            {entries.length === 0 ? 'The folder is empty' : 'Only hidden files here'}
          </p>
          <p className="mt-1 text-soft">Drop files here to upload them.</p>
        </div>
      )}
      <ul aria-label="Entries" className="min-h-0 grow overflow-y-auto p-1.5">
        {visible.slice(0, maxShownEntries).map((entry) => (
          <li key={entry.name}>
            <button
              type="button"
              onClick={() => onOpen(joinPath(path, entry.name))}
              className="flex h-8.5 w-full items-center gap-2.5 rounded-md px-2.5 text-left text-sm hover:bg-panel focus-visible:-outline-offset-2"
            >
              <EntryIcon entry={entry} />
              <span className="min-w-0 grow truncate">{readableName(entry.name)}</span>
              <span className="shrink-0 text-[0.8rem] text-soft tabular-nums">
                {entry.size_bytes === null ? kinds[entry.type] : formatBytes(entry.size_bytes)}
              </span>
            </button>
          </li>
        ))}
      </ul>
    </DropZone>
  );
}

/** Of an entry without a size. */
const kinds = { dir: 'folder', symlink: 'link', file: 'special file' } as const;

function describeCount(count: number, hidden: number): string {
  const all = `${count.toLocaleString('en')} ${count === 1 ? 'entry' : 'entries'}`;
  return hidden === 0 ? all : `${all}, ${hidden} hidden`;
}

interface DropZoneProps {
  readonly children: ReactNode;
  readonly onUpload: (files: readonly File[]) => void;
}

function DropZone({ children, onUpload }: DropZoneProps) {
  // Moving from one child to another leaves and enters.
  const [depth, setDepth] = useState(0);
  const isForFiles = (event: DragEvent) => event.dataTransfer.types.includes('Files');
  const drop = (event: DragEvent) => {
    if (!isForFiles(event)) return;
    event.preventDefault();
    setDepth(0);
    const { files, hasFolders } = filesIn(event.dataTransfer);
    if (hasFolders) announce('Folders cannot be uploaded. Pack them into an archive, and unpack it in a terminal.');
    if (files.length > 0) onUpload(files);
  };
  return (
    <section
      aria-label="Folder"
      className="relative flex min-h-0 grow flex-col"
      onDragEnter={(event) => isForFiles(event) && setDepth((count) => count + 1)}
      onDragLeave={(event) => isForFiles(event) && setDepth((count) => Math.max(0, count - 1))}
      onDragOver={(event) => {
        if (isForFiles(event)) event.preventDefault();
      }}
      onDrop={drop}
    >
      {children}
      {depth > 0 && (
        <div className="pointer-events-none absolute inset-2 z-10 grid place-items-center rounded-lg border-2 border-accent border-dashed bg-tint/85 text-base font-medium text-accent">
          Drop the files to upload them here
        </div>
      )}
    </section>
  );
}

function filesIn({ items }: DataTransfer): { readonly files: readonly File[]; readonly hasFolders: boolean } {
  const all = [...items].filter(({ kind }) => kind === 'file');
  const isFolder = (item: DataTransferItem) => item.webkitGetAsEntry()?.isDirectory === true;
  return {
    files: all.filter((item) => !isFolder(item)).flatMap((item) => item.getAsFile() ?? []),
    hasFolders: all.some(isFolder),
  };
}
