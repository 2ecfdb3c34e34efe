import { useMutation } from '@tanstack/react-query';
import { useBlocker } from '@tanstack/react-router';
import { Save } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { type Editor, openEditor } from './code-mirror.ts';
import { findText, writeText } from './file-requests.ts';
import { languageOf } from './language.ts';
import { readableName } from './names.ts';
import { nameOf } from './paths.ts';
import { decideSave, type Found } from './saving.ts';

interface TextEditorProps {
  readonly id: string;
  readonly path: string;
  /** As it was read. */
  readonly content: string;
  readonly onSaved: () => void;
  /** Opens the file as it is now, without what was typed. */
  readonly onReload: () => void;
}

/** Edits a file of text. What somebody else has changed meanwhile is not overwritten without a question, nor is what was typed lost without one. */
export function TextEditor({ id, path, content, onSaved, onReload }: TextEditorProps) {
  const element = useRef<HTMLDivElement>(null);
  const editor = useRef<Editor>(undefined);
  /** What the text was made from: the file as it was read or saved last. */
  const base = useRef(content);
  const [isChanged, setIsChanged] = useState(false);
  const [conflict, setConflict] = useState<Found>();
  const save = useMutation({
    mutationFn: async ({ mine, overwrites }: { readonly mine: string; readonly overwrites: boolean }) => {
      const decision = overwrites
        ? ({ kind: 'write' } as const)
        : decideSave(mine, base.current, await findText(id, path));
      if (decision.kind === 'write') await writeText(id, path, mine);
      return { decision, mine };
    },
    onSuccess: ({ decision, mine }) => {
      if (decision.kind === 'ask') {
        setConflict(decision.found);
        return;
      }
      setConflict(undefined);
      base.current = mine;
      setIsChanged(editor.current?.content() !== mine);
      announce(decision.kind === 'same' ? 'It is saved already.' : 'Saved.');
      onSaved();
    },
  });
  const start = (overwrites: boolean) => {
    const mine = editor.current?.content();
    if (mine !== undefined && !save.isPending) save.mutate({ mine, overwrites });
  };
  const latestStart = useRef(start);
  useEffect(() => {
    latestStart.current = start;
  });
  useEffect(() => {
    if (!element.current) return;
    const name = nameOf(path);
    const opened = openEditor(element.current, {
      content: base.current,
      label: `Content of ${readableName(name)}`,
      language: languageOf(name, base.current.slice(0, 200).split('\n', 1)[0]),
      onChange: () => setIsChanged(opened.content() !== base.current),
      onSave: () => latestStart.current(false),
    });
    editor.current = opened;
    return () => opened.dispose();
  }, [path]);
  const blocker = useBlocker({ shouldBlockFn: () => isChanged, enableBeforeUnload: isChanged, withResolver: true });
  return (
    <div className="flex min-h-0 grow flex-col">
      <div className="flex min-h-11 flex-wrap items-center gap-2 border-line border-b bg-panel px-3.5 py-1">
        <p role="status" className="min-w-0 grow text-[0.8rem] text-soft">
          {isChanged ? <span className="font-medium text-amber">Not saved</span> : 'As it is in the sandbox'}
        </p>
        <Button
          look={isChanged ? 'primary' : 'plain'}
          className="h-8 px-3"
          icon={<Save size={15} aria-hidden />}
          isPending={save.isPending}
          disabled={!isChanged}
          aria-keyshortcuts="Control+S"
          title="Ctrl+S"
          onClick={() => start(false)}
        >
          Save
        </Button>
      </div>
      {save.isError && (
        <div className="border-line border-b p-2">
          <ErrorNotice error={save.error} />
        </div>
      )}
      <div ref={element} className="min-h-0 grow overflow-hidden" />
      {conflict && (
        <Conflict
          path={path}
          found={conflict}
          isSaving={save.isPending}
          error={save.error}
          onOverwrite={() => start(true)}
          onReload={() => {
            setIsChanged(false);
            setConflict(undefined);
            onReload();
          }}
          onClose={() => setConflict(undefined)}
        />
      )}
      {blocker.status === 'blocked' && (
        <Dialog title="Leave without saving?" onClose={blocker.reset}>
          <p className="text-soft">
            What you changed in <span className="font-mono text-sm wrap-anywhere text-ink">{readableName(path)}</span>{' '}
            is lost then.
          </p>
          <DialogActions>
            <Button look="danger" onClick={blocker.proceed}>
              Leave
            </Button>
            <Button look="primary" onClick={blocker.reset}>
              Stay
            </Button>
          </DialogActions>
        </Dialog>
      )}
    </div>
  );
}

interface ConflictProps {
  readonly path: string;
  readonly found: Found;
  readonly isSaving: boolean;
  readonly error: unknown;
  readonly onOverwrite: () => void;
  readonly onReload: () => void;
  readonly onClose: () => void;
}

const conflictTitles = {
  text: 'The file was changed meanwhile',
  missing: 'The file was deleted meanwhile',
  other: 'This is no text file any more',
} as const satisfies Record<Found['kind'], string>;

function Conflict({ path, found, isSaving, error, onOverwrite, onReload, onClose }: ConflictProps) {
  const [showsTheirs, setShowsTheirs] = useState(false);
  return (
    <Dialog title={conflictTitles[found.kind]} onClose={onClose} isWide>
      <p className="font-mono text-sm wrap-anywhere">{readableName(path)}</p>
      <p className="mt-2 text-soft">
        {found.kind === 'missing'
          ? 'Saving creates it again.'
          : 'Since you opened it, somebody or something else has changed it. Overwriting replaces their version with yours.'}
      </p>
      {found.kind === 'text' && (
        <>
          <Button
            look="quiet"
            className="mt-2 -ml-3.5"
            aria-expanded={showsTheirs}
            onClick={() => setShowsTheirs(!showsTheirs)}
          >
            {showsTheirs ? 'Hide their version' : 'Show their version'}
          </Button>
          {showsTheirs && (
            // It scrolls, so the keyboard must reach it.
            <textarea
              readOnly
              aria-label="Their version"
              value={found.content}
              wrap="off"
              className="input mt-2 !h-72 resize-y bg-code py-2 font-mono !text-[0.8rem]"
            />
          )}
        </>
      )}
      {error !== null && (
        <div className="mt-4">
          <ErrorNotice error={error} />
        </div>
      )}
      <DialogActions>
        <Button onClick={onClose}>Keep editing</Button>
        {found.kind === 'text' && <Button onClick={onReload}>Discard mine, load theirs</Button>}
        {found.kind !== 'other' && (
          <Button look={found.kind === 'missing' ? 'primary' : 'danger'} isPending={isSaving} onClick={onOverwrite}>
            {found.kind === 'missing' ? 'Create it again' : 'Overwrite theirs'}
          </Button>
        )}
      </DialogActions>
    </Dialog>
  );
}
