import { workspacePath } from '@mayfly/contract';
import { useQueries, useQuery, useQueryClient } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { Eye, EyeOff, RotateCw } from 'lucide-react';
import { useState } from 'react';
import { announce } from '../parts/announcements.tsx';
import { NeedsMachine } from '../sandbox/outcome.tsx';
import { useSandbox } from '../sandbox/queries.ts';
import { type EntryDialog, EntryDialogs } from './entry-dialogs.tsx';
import { FileView, IconButton } from './entry-view.tsx';
import { filesKey, folderQuery, useMaxFileBytes } from './file-requests.ts';
import { FolderView } from './folder-view.tsx';
import { readableName } from './names.ts';
import { PathBar } from './path-bar.tsx';
import { foldersAbove, isWithin, nameOf, parentOf, pathInSearch } from './paths.ts';
import { type Listing, rowsOf } from './tree.ts';
import { Tree } from './tree-view.tsx';
import { UploadList, useUploads } from './uploads.tsx';

/** The files of a sandbox: a tree, and beside it the folder or file that the address names. */
export function FilesTab() {
  const sandbox = useSandbox();
  if (sandbox.status !== 'running') return <NeedsMachine sandbox={sandbox} what="Its file system" />;
  return <Files key={sandbox.id} id={sandbox.id} />;
}

function Files({ id }: { readonly id: string }) {
  const search = useSearch({ from: '/signed-in/sandboxes/$id/files' });
  const path = pathInSearch(search.path);
  const navigate = useNavigate();
  const queryClient = useQueryClient();
  const [root, setRoot] = useState(workspacePath);
  if (!isWithin(path, root)) setRoot('/');
  const [toggled, setToggled] = useState<ReadonlyMap<string, boolean>>(new Map());
  const [showsHidden, setShowsHidden] = useState(false);
  const [dialog, setDialog] = useState<EntryDialog>();
  const uploads = useUploads(id);
  const maxFileBytes = useMaxFileBytes();

  // The folders above what is shown are expanded unless somebody has collapsed them.
  const above = foldersAbove(path, root);
  const expanded = new Set([
    ...above.filter((folder) => toggled.get(folder) !== false),
    ...[...toggled].filter(([, isExpanded]) => isExpanded).map(([folder]) => folder),
  ]);
  const folders = [...new Set([root, ...above, ...[...expanded].filter((folder) => isWithin(folder, root))])];
  const listings = useQueries({ queries: folders.map((folder) => folderQuery(id, folder)) });
  const listingOf = (folder: string): Listing => listingFrom(listings[folders.indexOf(folder)]);

  const go = (next: string) => {
    void navigate({ to: '/sandboxes/$id/files', params: { id }, search: next === workspacePath ? {} : { path: next } });
  };
  const open = (next: string) => {
    go(next);
    const isFolder = entryOf(listingOf(parentOf(next)), next)?.type === 'dir';
    if (isFolder) setToggled(new Map([...toggled, [next, true]]));
  };
  const refresh = () => queryClient.invalidateQueries({ queryKey: filesKey(id) });
  const refreshAndGo = async (next: string) => {
    await refresh();
    go(next);
  };
  const parent = path === root ? undefined : listingOf(parentOf(path));
  const entry = parent && entryOf(parent, path);
  const isFolder = path === root || entry?.type === 'dir';
  const folder = isFolder ? path : parentOf(path);
  const shownFolder = useQuery({ ...folderQuery(id, path), enabled: isFolder });
  const folderView = (listing: Listing) => (
    <FolderView
      id={id}
      path={path}
      listing={listing}
      showsHidden={showsHidden}
      onOpen={open}
      onAct={setDialog}
      onUpload={(files) => uploads.add(files, { folder: path, existing: namesIn(listing), maxBytes: maxFileBytes })}
      onRetry={() => void refresh()}
    />
  );
  const isHiddenShown = showsHidden ? 'Hide hidden files' : 'Show hidden files';
  const HiddenIcon = showsHidden ? EyeOff : Eye;
  return (
    <>
      <div className="mb-3 flex items-center gap-1.5">
        <PathBar key={path} path={path} folder={folder} onGo={go} />
        <IconButton label={isHiddenShown} onClick={() => setShowsHidden(!showsHidden)}>
          <HiddenIcon size={17} aria-hidden />
        </IconButton>
        <IconButton label="Reload" onClick={() => void refresh()}>
          <RotateCw size={16} aria-hidden />
        </IconButton>
      </div>
      <div className="grid overflow-hidden rounded-lg border border-line md:h-[max(26rem,calc(100dvh-27rem))] md:grid-cols-[minmax(13rem,19rem)_minmax(0,1fr)]">
        <div className="min-h-0 overflow-y-auto border-line max-md:max-h-72 max-md:border-b md:border-r">
          <Tree
            label={`Files in ${readableName(root)}`}
            rows={rowsOf({ root, expanded, showsHidden: showsHidden || hasHiddenName(path, root), listingOf })}
            selected={path}
            onOpen={open}
            onToggle={(folderPath, isExpanded) => setToggled(new Map([...toggled, [folderPath, isExpanded]]))}
            onRetry={(failed) => void queryClient.invalidateQueries({ queryKey: folderQuery(id, failed).queryKey })}
          />
        </div>
        <div className="flex min-h-0 min-w-0 flex-col max-md:h-[34rem]">
          {isFolder ? (
            folderView(listingFrom(shownFolder))
          ) : parent?.kind === 'loading' ? null : (
            <FileView
              key={path}
              id={id}
              path={path}
              entry={entry}
              onAct={setDialog}
              onSaved={() => void queryClient.invalidateQueries({ queryKey: folderQuery(id, parentOf(path)).queryKey })}
              renderFolder={() => <LinkedFolder id={id} path={path} render={folderView} />}
            />
          )}
        </div>
      </div>
      <UploadList uploads={uploads} />
      {dialog && (
        <EntryDialogs
          id={id}
          dialog={dialog}
          onClose={() => setDialog(undefined)}
          onDone={(next, what) => {
            setDialog(undefined);
            announce(what);
            void refreshAndGo(next);
          }}
        />
      )}
    </>
  );
}

interface LinkedFolderProps {
  readonly id: string;
  readonly path: string;
  readonly render: (listing: Listing) => React.ReactNode;
}

/** The folder that a symbolic link leads to. */
function LinkedFolder({ id, path, render }: LinkedFolderProps) {
  return render(listingFrom(useQuery(folderQuery(id, path))));
}

interface FolderResult {
  readonly data?: { readonly entries: Extract<Listing, { kind: 'entries' }>['entries'] } | undefined;
  readonly error: unknown;
}

function listingFrom(result: FolderResult | undefined): Listing {
  if (result?.data) return { kind: 'entries', entries: result.data.entries };
  return result?.error ? { kind: 'failed', error: result.error } : { kind: 'loading' };
}

function entryOf(listing: Listing, path: string) {
  return listing.kind === 'entries' ? listing.entries.find(({ name }) => name === nameOf(path)) : undefined;
}

function namesIn(listing: Listing): ReadonlySet<string> {
  return new Set(listing.kind === 'entries' ? listing.entries.map(({ name }) => name) : []);
}

/** Whether what is shown would not be in the tree without hidden files. */
function hasHiddenName(path: string, root: string): boolean {
  return path.slice(root.length).includes('/.');
}
