import { formatBytes } from '@mayfly/contract';
import { useQueryClient } from '@tanstack/react-query';
import { Check, CircleAlert, X } from 'lucide-react';
import { useCallback, useEffect, useRef, useState } from 'react';
import { isSignedOut } from '../api/failure.ts';
import { sessionQuery } from '../api/queries.ts';
import { Button } from '../parts/button.tsx';
import { describeError } from '../parts/notice.tsx';
import { filesKey } from './file-requests.ts';
import { readableName } from './names.ts';
import { joinPath } from './paths.ts';
import { sendFile } from './send-file.ts';
import {
  changeUpload,
  type Destination,
  enqueue,
  isPending,
  nextUpload,
  progressOf,
  type Upload,
  type UploadState,
} from './upload-queue.ts';

export interface Uploads {
  readonly queue: readonly Upload[];
  readonly add: (files: readonly File[], destination: Destination) => void;
  readonly replace: (id: number) => void;
  readonly remove: (id: number) => void;
  /** Removes all that need nobody any more. */
  readonly clear: () => void;
}

/** Uploads files one after the other, as long as the page of the files is open. */
export function useUploads(sandboxId: string): Uploads {
  const queryClient = useQueryClient();
  const [queue, setQueue] = useState<readonly Upload[]>([]);
  const files = useRef(new Map<number, File>());
  const lastId = useRef(0);
  const sending = useRef<{ readonly id: number; readonly controller: AbortController }>(undefined);
  const next = nextUpload(queue);

  const change = useCallback((id: number, state: UploadState) => setQueue((all) => changeUpload(all, id, state)), []);
  const send = useCallback(
    async ({ id, folder, name }: Upload) => {
      const file = files.current.get(id);
      if (file === undefined || sending.current?.id === id) return;
      const controller = new AbortController();
      sending.current = { id, controller };
      change(id, { kind: 'sending', part: 0 });
      try {
        await sendFile({
          sandboxId,
          path: joinPath(folder, name),
          file,
          signal: controller.signal,
          onProgress: (part) => change(id, { kind: 'sending', part }),
        });
        change(id, { kind: 'done' });
        await queryClient.invalidateQueries({ queryKey: [...filesKey(sandboxId), 'folder', folder] });
      } catch (error) {
        if (controller.signal.aborted) return;
        change(id, { kind: 'failed', reason: describeError(error).message });
        if (isSignedOut(error)) await queryClient.invalidateQueries({ queryKey: sessionQuery.queryKey });
      } finally {
        files.current.delete(id);
      }
    },
    [sandboxId, change, queryClient],
  );
  useEffect(() => {
    if (next !== undefined) void send(next);
  }, [next, send]);
  useEffect(() => () => sending.current?.controller.abort(), []);

  return {
    queue,
    add: (added, destination) => {
      const candidates = added.map((file) => {
        lastId.current += 1;
        files.current.set(lastId.current, file);
        return { id: lastId.current, name: file.name, size: file.size };
      });
      setQueue((all) => enqueue(all, candidates, destination));
    },
    replace: (id) => change(id, { kind: 'waiting' }),
    remove: (id) => {
      if (sending.current?.id === id) sending.current.controller.abort();
      files.current.delete(id);
      setQueue((all) => all.filter((upload) => upload.id !== id));
    },
    clear: () => setQueue((all) => all.filter(isPending)),
  };
}

/** The uploads of this visit, with what they need from the person. */
export function UploadList({ uploads: { queue, replace, remove, clear } }: { readonly uploads: Uploads }) {
  if (queue.length === 0) return null;
  const done = queue.filter(({ state }) => state.kind === 'done').length;
  const part = progressOf(queue);
  return (
    <section
      aria-label="Uploads"
      className="sticky bottom-4 z-10 mt-4 animate-rise rounded-lg border border-line bg-float shadow-float"
    >
      <div className="flex items-center gap-3 px-4 py-2">
        <h2 className="text-sm font-semibold">Uploads</h2>
        <p role="status" className="grow text-sm text-soft tabular-nums">
          {done} of {queue.length}
        </p>
        {part === undefined && (
          <Button look="quiet" className="-mr-2 h-8" onClick={clear}>
            Clear
          </Button>
        )}
      </div>
      {part !== undefined && <ProgressLine label="All uploads" part={part} />}
      <ul className="max-h-40 divide-y md:max-h-60 divide-line overflow-y-auto border-line border-t">
        {queue.map((upload) => (
          <li key={upload.id} className="flex flex-wrap items-center gap-x-3 gap-y-1 px-4 py-2 text-sm">
            <span className="min-w-0 grow basis-40 truncate" title={readableName(upload.name)}>
              {readableName(upload.name)}{' '}
              <span className="text-soft tabular-nums">{formatBytes(upload.sizeBytes)}</span>
            </span>
            <State upload={upload} onReplace={() => replace(upload.id)} />
            <button
              type="button"
              aria-label={`Remove ${readableName(upload.name)} from the list`}
              onClick={() => remove(upload.id)}
              className="grid size-7 place-items-center rounded-sm text-soft hover:bg-panel hover:text-ink"
            >
              <X size={15} aria-hidden />
            </button>
          </li>
        ))}
      </ul>
    </section>
  );
}

function State({ upload: { state, name }, onReplace }: { readonly upload: Upload; readonly onReplace: () => void }) {
  switch (state.kind) {
    case 'waiting':
      return <span className="text-soft">waiting</span>;
    case 'sending':
      return (
        <span className="flex w-32 items-center gap-2">
          <ProgressLine label={`Upload of ${readableName(name)}`} part={state.part} />
        </span>
      );
    case 'done':
      return (
        <span className="flex items-center gap-1.5 text-green">
          <Check size={15} aria-hidden /> uploaded
        </span>
      );
    case 'exists':
      return (
        <span className="flex items-center gap-2">
          <span className="text-amber">There is one already.</span>
          <Button className="h-7 px-2.5" onClick={onReplace}>
            Replace it
          </Button>
        </span>
      );
    case 'failed':
      return (
        <span role="alert" className="flex items-start gap-1.5 text-red">
          <CircleAlert size={15} aria-hidden className="mt-1 shrink-0" />
          <span className="wrap-anywhere">{state.reason}</span>
        </span>
      );
  }
}

export function ProgressLine({ label, part }: { readonly label: string; readonly part: number | undefined }) {
  return (
    <div
      role="progressbar"
      aria-label={label}
      aria-valuemin={0}
      aria-valuemax={100}
      {...(part !== undefined && { 'aria-valuenow': Math.round(part * 100) })}
      className="h-1 w-full overflow-hidden rounded-full bg-line"
    >
      <div
        className={`h-full rounded-full bg-accent transition-[width] ${part === undefined ? 'animate-sweep' : ''}`}
        style={{ width: part === undefined ? '30%' : `${part * 100}%` }}
      />
    </div>
  );
}
