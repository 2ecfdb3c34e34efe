import { useMutation } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { createFile, createFolder, deletePath, movePath } from './file-requests.ts';
import { readableName } from './names.ts';
import { faultInName, joinPath, nameOf, parentOf, resolvePath } from './paths.ts';

export type EntryDialog =
  | { readonly kind: 'new-file' | 'new-folder'; readonly folder: string }
  | { readonly kind: 'move'; readonly path: string }
  | { readonly kind: 'delete'; readonly path: string; readonly isFolder: boolean };

interface EntryDialogsProps {
  readonly id: string;
  readonly dialog: EntryDialog;
  readonly onClose: () => void;
  /** Called with what should be shown next. */
  readonly onDone: (path: string, what: string) => void;
}

export function EntryDialogs({ dialog, ...rest }: EntryDialogsProps) {
  if (dialog.kind === 'move') return <Move path={dialog.path} {...rest} />;
  if (dialog.kind === 'delete') return <Delete path={dialog.path} isFolder={dialog.isFolder} {...rest} />;
  return <Create isFolder={dialog.kind === 'new-folder'} folder={dialog.folder} {...rest} />;
}

type DialogProps = Omit<EntryDialogsProps, 'dialog'>;

interface CreateProps extends DialogProps {
  readonly isFolder: boolean;
  readonly folder: string;
}

function Create({ id, isFolder, folder, onClose, onDone }: CreateProps) {
  const [name, setName] = useState('');
  const what = isFolder ? 'folder' : 'file';
  const path = joinPath(folder, name);
  const fault = faultInName(name, folder);
  const create = useMutation({
    mutationFn: () => (isFolder ? createFolder : createFile)(id, path),
    onSuccess: () => onDone(path, `The ${what} was created.`),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (fault === undefined && !create.isPending) create.mutate();
  };
  return (
    <Dialog title={`New ${what}`} onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <Field
          label="Name"
          name="entry-name"
          autoComplete="off"
          spellCheck={false}
          value={name}
          onChange={(event) => setName(event.target.value)}
          hint={<>In {readableName(folder)}</>}
          error={name === '' ? undefined : fault}
        />
        {create.isError && <ErrorNotice error={create.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" isPending={create.isPending} disabled={fault !== undefined}>
            Create {what}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function Move({ id, path, onClose, onDone }: DialogProps & { readonly path: string }) {
  const folder = parentOf(path);
  const [typed, setTyped] = useState(nameOf(path));
  // A name, or a path from here.
  const target = resolvePath(typed, folder);
  const fault = typed.trim() === '' ? 'Enter a name.' : faultInName(nameOf(target), parentOf(target));
  const isChanged = target !== path && typed !== fieldValue(nameOf(path));
  const move = useMutation({
    mutationFn: () => movePath(id, path, target),
    onSuccess: () => onDone(target, parentOf(target) === folder ? 'Renamed.' : 'Moved.'),
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (fault === undefined && isChanged && !move.isPending) move.mutate();
  };
  return (
    <Dialog title="Rename or move" onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <Field
          label="New name or path"
          name="entry-path"
          autoComplete="off"
          spellCheck={false}
          value={typed}
          onChange={(event) => setTyped(event.target.value)}
          hint={<span className="wrap-anywhere">It becomes {readableName(target)}. Nothing is replaced.</span>}
          error={fault}
        />
        {move.isError && <ErrorNotice error={move.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" isPending={move.isPending} disabled={fault !== undefined || !isChanged}>
            {parentOf(target) === folder ? 'Rename' : 'Move'}
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

/** What a field makes of a value: it has no line breaks. */
function fieldValue(name: string): string {
  return name.replace(/[\r\n]/g, '');
}

interface DeleteProps extends DialogProps {
  readonly path: string;
  readonly isFolder: boolean;
}

function Delete({ id, path, isFolder, onClose, onDone }: DeleteProps) {
  const remove = useMutation({
    mutationFn: () => deletePath(id, path, isFolder),
    onSuccess: () => onDone(parentOf(path), 'Deleted.'),
  });
  const what = isFolder ? 'folder' : 'file';
  return (
    <Dialog title={`Delete the ${what}?`} onClose={onClose}>
      <p className="font-mono text-sm wrap-anywhere">{readableName(path)}</p>
      <p className="mt-2 text-soft">
        {isFolder ? 'Everything in it is deleted too. ' : ''}It cannot be restored, unless there is a snapshot with it.
      </p>
      {remove.isError && (
        <div className="mt-4">
          <ErrorNotice error={remove.error} />
        </div>
      )}
      <DialogActions>
        <Button onClick={onClose}>Keep it</Button>
        <Button look="danger" isPending={remove.isPending} onClick={() => remove.mutate()}>
          Delete the {what}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
