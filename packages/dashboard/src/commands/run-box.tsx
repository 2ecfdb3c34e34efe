import { defaultLimits, type Execution, type Sandbox, workspacePath } from '@mayfly/contract';
import { useMutation, useQueryClient } from '@tanstack/react-query';
import { ChevronRight, CornerDownLeft } from 'lucide-react';
import { type FormEvent, type KeyboardEvent, useEffect, useRef, useState } from 'react';
import { request } from '../api/request.ts';
import { Button } from '../parts/button.tsx';
import { Field } from '../parts/field.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { sandboxPath } from '../sandbox/queries.ts';
import { atDraft, earlier, later, leavesText } from './history.ts';
import { rememberCommand, rememberedCommands } from './remembered.ts';

const mostRows = 12;

interface RunBoxProps {
  readonly sandbox: Sandbox;
  readonly onStarted: (executionId: string) => void;
}

/** Starts commands. Enter runs, Shift+Enter begins another line, the arrows go through what was run before. */
export function RunBox({ sandbox: { id }, onStarted }: RunBoxProps) {
  const queryClient = useQueryClient();
  const field = useRef<HTMLTextAreaElement>(null);
  const [command, setCommand] = useState('');
  const [place, setPlace] = useState(atDraft);
  const [folder, setFolder] = useState('');
  const [timeoutSeconds, setTimeoutSeconds] = useState('');
  useEffect(() => field.current?.focus({ preventScroll: true }), []);
  const run = useMutation({
    mutationFn: (started: string) =>
      request<Execution>(`${sandboxPath(id)}/exec`, {
        method: 'POST',
        body: {
          command: started,
          background: true,
          ...(folder.trim() !== '' && { cwd: folder.trim() }),
          ...(timeoutSeconds !== '' && { timeout_ms: Math.round(Number(timeoutSeconds) * 1_000) }),
        },
      }),
    onSuccess: (execution, started) => {
      rememberCommand(id, { id: execution.id, command: started });
      setCommand('');
      setPlace(atDraft);
      void queryClient.invalidateQueries({ queryKey: ['executions', id] });
      onStarted(execution.id);
    },
  });
  const submit = (event?: FormEvent) => {
    event?.preventDefault();
    if (command.trim() !== '' && !run.isPending) run.mutate(command);
  };
  const onKey = (event: KeyboardEvent<HTMLTextAreaElement>) => {
    if (event.nativeEvent.isComposing) return;
    if (event.key === 'Enter' && !event.shiftKey) {
      event.preventDefault();
      submit();
      return;
    }
    const { selectionStart, selectionEnd } = event.currentTarget;
    if (selectionStart !== selectionEnd || event.shiftKey || event.altKey || event.ctrlKey || event.metaKey) return;
    const direction = leavesText(event.key, command, selectionStart);
    if (direction === undefined) return;
    const commands = rememberedCommands(id).map((remembered) => remembered.command);
    const next = direction === 'earlier' ? earlier(commands, place, command) : later(commands, place);
    if (!next) return;
    event.preventDefault();
    setPlace(next.place);
    setCommand(next.text);
  };
  const rows = Math.min(mostRows, Math.max(1, command.split('\n').length));
  return (
    <form onSubmit={submit}>
      <div className="flex items-start gap-2 rounded-lg border border-edge bg-page p-1.5 pl-3.5 transition-colors hover:border-soft has-[textarea:focus-visible]:border-accent has-[textarea:focus-visible]:outline-2 has-[textarea:focus-visible]:-outline-offset-1 has-[textarea:focus-visible]:outline-accent">
        <span aria-hidden className="py-2 font-mono text-sm leading-5 text-accent select-none">
          $
        </span>
        <textarea
          ref={field}
          aria-label="Command"
          aria-describedby="run-hint"
          rows={rows}
          value={command}
          maxLength={defaultLimits.commandCharacters}
          autoCapitalize="none"
          autoComplete="off"
          spellCheck={false}
          placeholder="uname -a"
          onChange={(event) => {
            setCommand(event.target.value);
            setPlace(atDraft);
          }}
          onKeyDown={onKey}
          className="field-sizing-content max-h-64 min-h-9 min-w-0 grow resize-none bg-transparent py-2 font-mono text-base leading-5 outline-none md:text-sm"
        />
        <Button
          type="submit"
          look="primary"
          isPending={run.isPending}
          disabled={command.trim() === ''}
          icon={<CornerDownLeft size={15} aria-hidden />}
          className="self-end"
        >
          Run
        </Button>
      </div>
      <div className="mt-2 flex flex-wrap items-start justify-between gap-x-6 gap-y-1">
        <details className="group min-w-0">
          <summary className="inline-flex list-none items-center gap-1 rounded-md text-sm text-soft hover:text-ink">
            <ChevronRight size={15} aria-hidden className="transition-transform group-open:rotate-90" />
            Options
          </summary>
          <div className="mt-3 mb-2 grid max-w-xl gap-4 sm:grid-cols-2">
            <Field
              label="Working folder"
              autoComplete="off"
              autoCapitalize="none"
              spellCheck={false}
              placeholder={workspacePath}
              value={folder}
              onChange={(event) => setFolder(event.target.value)}
              className="font-mono"
            />
            <Field
              label="Timeout in seconds"
              type="number"
              min={1}
              max={defaultLimits.maxCommandTimeoutMs / 1_000}
              step={1}
              placeholder="none"
              value={timeoutSeconds}
              onChange={(event) => setTimeoutSeconds(event.target.value)}
            />
          </div>
        </details>
        <p id="run-hint" className="text-[0.8rem] text-soft max-md:sr-only">
          <kbd className="font-sans font-medium">Enter</kbd> runs,{' '}
          <kbd className="font-sans font-medium">Shift+Enter</kbd> begins a line,{' '}
          <kbd className="font-sans font-medium">↑</kbd> brings back earlier commands
        </p>
      </div>
      {run.isError && (
        <div className="mt-3">
          <ErrorNotice error={run.error} />
        </div>
      )}
    </form>
  );
}
