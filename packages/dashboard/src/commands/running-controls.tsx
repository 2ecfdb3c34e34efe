import type { ExecutionSummary, StdinWrite } from '@mayfly/contract';
import { useMutation } from '@tanstack/react-query';
import { CornerDownLeft, OctagonX } from 'lucide-react';
import { type FormEvent, useState } from 'react';
import { request } from '../api/request.ts';
import { announce } from '../parts/announcements.tsx';
import { Button, buttonClass } from '../parts/button.tsx';
import { Menu, MenuItem } from '../parts/menu.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { executionPath } from './queries.ts';

const signals = [
  { name: 'INT', label: 'Interrupt (INT)' },
  { name: 'TERM', label: 'Terminate (TERM)' },
  { name: 'KILL', label: 'Kill at once (KILL)' },
] as const;

/** What can be done with a command that runs: write to its input, or send it a signal. */
export function RunningControls({ executionId }: { readonly executionId: string }) {
  const [line, setLine] = useState('');
  const [isClosed, setIsClosed] = useState(false);
  const path = executionPath(executionId);
  const write = useMutation({
    mutationFn: (body: { readonly data?: string; readonly close?: boolean }) =>
      request<StdinWrite>(`${path}/stdin`, { method: 'POST', body }),
    onSuccess: ({ closed }, { data }) => {
      if (data !== undefined) setLine('');
      if (closed) setIsClosed(true);
    },
  });
  const kill = useMutation({
    mutationFn: (signal: string) => request<ExecutionSummary>(`${path}/kill`, { method: 'POST', body: { signal } }),
    onSuccess: (_, signal) => announce(`Sent ${signal}.`),
  });
  const send = (event: FormEvent) => {
    event.preventDefault();
    if (!write.isPending) write.mutate({ data: `${line}\n` });
  };
  const error = write.error ?? kill.error;
  return (
    <footer className="border-line border-t bg-panel p-2">
      {error !== null && (
        <div className="mb-2">
          <ErrorNotice error={error} />
        </div>
      )}
      <div className="flex flex-wrap items-center gap-2">
        {isClosed ? (
          <p className="grow px-2 text-sm text-soft">Its standard input is closed.</p>
        ) : (
          <form onSubmit={send} className="flex min-w-0 grow basis-60 gap-2">
            <input
              aria-label="Send a line to the standard input"
              placeholder="Standard input"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              value={line}
              onChange={(event) => setLine(event.target.value)}
              className="input !h-9 min-w-0 grow font-mono md:!text-[0.82rem]"
            />
            <Button type="submit" isPending={write.isPending} icon={<CornerDownLeft size={15} aria-hidden />}>
              Send
            </Button>
            <Button
              look="quiet"
              className="!px-2.5"
              title="Close the standard input (end of file)"
              onClick={() => write.mutate({ close: true })}
            >
              Close<span className="sr-only"> the standard input</span>
            </Button>
          </form>
        )}
        <Menu
          label="Stop: send a signal"
          trigger={
            <>
              <OctagonX size={16} aria-hidden />
              Stop
            </>
          }
          triggerClass={buttonClass('danger')}
        >
          {signals.map(({ name, label }) => (
            <MenuItem key={name} icon={undefined} label={label} onSelect={() => kill.mutate(name)} />
          ))}
        </Menu>
      </div>
    </footer>
  );
}
