import { type ApiKeyList, type CreatedApiKey, dashboardLimits } from '@mayfly/contract/dashboard';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useEffect, useRef, useState } from 'react';
import { keysQuery } from '../api/queries.ts';
import { request } from '../api/request.ts';
import { Button } from '../parts/button.tsx';
import { Code } from '../parts/code.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Dialog, DialogActions } from '../parts/dialog.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNotice, Notice } from '../parts/notice.tsx';
import { tryKeyWithCurl } from '../sandboxes/snippets.ts';
import { rememberNewKey } from './new-key.ts';
import { describeRoom } from './room.ts';

interface CreateKeyProps {
  readonly keys: ApiKeyList;
  readonly onClose: () => void;
}

/** Asks for a name, then shows the key. Besides this dialog only the first steps show it, in this tab. */
export function CreateKey({ keys, onClose }: CreateKeyProps) {
  const queryClient = useQueryClient();
  const [name, setName] = useState('');
  const create = useMutation({
    mutationFn: () => request<CreatedApiKey>('/keys', { method: 'POST', body: { name: name.trim() } }),
    gcTime: 0,
    onSuccess: (created) => rememberNewKey(queryClient, created),
    onSettled: () => queryClient.invalidateQueries({ queryKey: keysQuery.queryKey }),
  });
  if (create.data) return <CreatedKey created={create.data} onClose={onClose} />;
  const submit = (event: FormEvent) => {
    event.preventDefault();
    if (name.trim() !== '' && !create.isPending) create.mutate();
  };
  return (
    <Dialog title="Create an API key" onClose={onClose}>
      <form onSubmit={submit} className="space-y-4">
        <Field
          label="Name"
          name="key-name"
          autoComplete="off"
          required
          maxLength={dashboardLimits.keyNameCharacters}
          placeholder="CI of the web shop"
          value={name}
          onChange={(event) => setName(event.target.value)}
          hint={`Where the key will be used. ${describeRoom(keys.active, keys.limit)}`}
        />
        {create.isError && <ErrorNotice error={create.error} />}
        <DialogActions>
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" look="primary" isPending={create.isPending} disabled={name.trim() === ''}>
            Create key
          </Button>
        </DialogActions>
      </form>
    </Dialog>
  );
}

function CreatedKey({ created, onClose }: { readonly created: CreatedApiKey; readonly onClose: () => void }) {
  const field = useRef<HTMLInputElement>(null);
  const [isCopied, setIsCopied] = useState(false);
  useEffect(() => field.current?.select(), []);
  return (
    <Dialog title={`Key “${created.name ?? ''}” created`} onClose={onClose} isDismissible={false} isWide>
      <Notice>
        <strong className="font-semibold">Copy the key now.</strong> It is not stored and cannot be shown again.
      </Notice>
      <div className="mt-4 flex gap-2">
        <input
          ref={field}
          readOnly
          aria-label="The key"
          value={created.key}
          spellCheck={false}
          onFocus={(event) => event.target.select()}
          className="input min-w-0 !h-9 font-mono !text-[0.85rem]"
        />
        <CopyButton text={created.key} what="the key" look="primary" onCopied={() => setIsCopied(true)} />
      </div>
      <h3 className="mt-6 mb-2 text-sm font-medium">Try it</h3>
      <Code
        source={tryKeyWithCurl(location.origin, created.key)}
        language="shell"
        label="A curl line that uses the key"
      />
      <DialogActions>
        <Button look={isCopied ? 'primary' : 'plain'} onClick={onClose}>
          {isCopied ? 'Done' : 'I have stored the key'}
        </Button>
      </DialogActions>
    </Dialog>
  );
}
