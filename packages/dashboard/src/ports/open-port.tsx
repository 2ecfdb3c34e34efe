import type { Port, PortList } from '@mayfly/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { type FormEvent, useState } from 'react';
import { request } from '../api/request.ts';
import { announce } from '../parts/announcements.tsx';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { sandboxPath } from '../sandbox/queries.ts';
import { portProblem, readPort } from './port-number.ts';
import { portsQuery } from './queries.ts';

/** Opens a port of the sandbox on a public URL. One that is open already keeps its URL. */
export function OpenPort({ sandboxId }: { readonly sandboxId: string }) {
  const queryClient = useQueryClient();
  const [text, setText] = useState('');
  const [problem, setProblem] = useState<string>();
  const open = useMutation({
    mutationFn: (port: number) => request<Port>(`${sandboxPath(sandboxId)}/ports`, { method: 'POST', body: { port } }),
    onSuccess: (opened) => {
      const { queryKey } = portsQuery(sandboxId);
      queryClient.setQueryData<PortList>(
        queryKey,
        (list) => list && { ...list, data: [...list.data.filter(({ port }) => port !== opened.port), opened] },
      );
      void queryClient.invalidateQueries({ queryKey });
      setText('');
      announce(`Port ${opened.port} is open.`);
    },
  });
  const submit = (event: FormEvent) => {
    event.preventDefault();
    const port = readPort(text);
    setProblem(portProblem(text));
    if (port !== undefined && !open.isPending) open.mutate(port);
  };
  return (
    <form onSubmit={submit} noValidate className="max-w-md">
      <div className="flex items-start gap-2">
        <div className="grow">
          <Field
            label="Port"
            inputMode="numeric"
            autoComplete="off"
            placeholder="3000"
            value={text}
            onChange={(event) => {
              setText(event.target.value);
              setProblem(undefined);
            }}
            error={problem}
            hint="The one that the server in the sandbox listens on. Listening on localhost is enough."
          />
        </div>
        <Button type="submit" look="primary" isPending={open.isPending} className="mt-[1.625rem] !h-10">
          Open the port
        </Button>
      </div>
      {open.isError && (
        <div className="mt-3">
          <ErrorNotice error={open.error} />
        </div>
      )}
    </form>
  );
}
