import { type Execution, type ExecutionSummary, formatBytes } from '@mayfly/contract';
import { useQueryClient } from '@tanstack/react-query';
import { ChevronDown, ChevronUp, Download, Info, Search, X } from 'lucide-react';
import { type KeyboardEvent, useCallback, useEffect, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { formatDuration } from '../parts/duration.ts';
import { ErrorNotice } from '../parts/notice.tsx';
import { useNow } from '../parts/use-now.ts';
import { describeResult, formatLength, lengthMs } from './describe.ts';
import { Output } from './output.tsx';
import { ResultBadge } from './result-badge.tsx';
import { RunningControls } from './running-controls.tsx';
import { describeMatches, findMatches, type Match, step } from './search.ts';
import { type Following, type LiveOutput, useOutput, useVersion } from './use-output.ts';

interface ExecutionViewProps {
  readonly id: string;
  /** As far as it is known from the list. */
  readonly summary: ExecutionSummary | undefined;
  readonly command: string | undefined;
  readonly onClose: () => void;
}

/** One execution with its output, live while it runs. Give it the id as its key. */
export function ExecutionView({ id, summary, command, onClose }: ExecutionViewProps) {
  const queryClient = useQueryClient();
  const onEnd = useCallback(
    ({ sandbox_id }: Execution) => void queryClient.invalidateQueries({ queryKey: ['executions', sandbox_id] }),
    [queryClient],
  );
  const following = useOutput(id, onEnd);
  const { output, state, ended, error } = following;
  const execution = ended ?? summary;
  const isRunning = execution?.status === 'running' || (execution === undefined && state === 'live');
  const search = useSearch(output);
  return (
    <section
      aria-label={`Output of ${command ?? id}`}
      className="flex max-h-[min(42rem,75dvh)] min-w-0 animate-appear flex-col overflow-hidden rounded-lg border border-line"
    >
      <header className="border-line border-b bg-panel py-2 pr-2 pl-4">
        <div className="flex items-start gap-2">
          <h2 className="max-h-20 min-w-0 grow overflow-y-auto py-1.5 font-mono text-[0.82rem] leading-5 whitespace-pre-wrap wrap-anywhere">
            {command ?? id}
          </h2>
          <button
            type="button"
            aria-label="Close the output"
            title="Close"
            onClick={onClose}
            className="grid size-8 shrink-0 place-items-center rounded-md text-soft hover:bg-tint hover:text-ink"
          >
            <X size={16} aria-hidden />
          </button>
        </div>
        <div className="flex flex-wrap items-center gap-x-3 gap-y-1 pb-0.5 text-sm">
          {execution && <ResultBadge execution={execution} />}
          <span className="text-[0.8rem] text-soft tabular-nums" role="status">
            {execution && <Length execution={execution} />}
            {state === 'lost' && ' · connection lost, reconnecting …'}
          </span>
          <span className="ml-auto flex items-center">
            <CopyButton text={() => output.buffer.text()} what="the output" isSmall />
            <button
              type="button"
              aria-label="Download the output"
              title="Download the output"
              onClick={() => download(output.buffer.text(), `${id}.txt`)}
              className="grid size-8 place-items-center rounded-md text-soft hover:bg-tint hover:text-ink"
            >
              <Download size={16} aria-hidden />
            </button>
          </span>
        </div>
      </header>
      <SearchBar search={search} />
      <Dropped output={output} execution={ended} />
      {error !== undefined && (
        <div className="p-3">
          <ErrorNotice error={error} />
        </div>
      )}
      <Output
        output={output}
        label={`Output of ${command ?? id}`}
        matches={search.matches}
        current={search.matches[search.current]}
        empty={emptyText(following)}
      />
      {isRunning && <RunningControls executionId={id} />}
    </section>
  );
}

function emptyText({ state, error }: Following): string {
  if (error !== undefined) return '';
  if (state === 'connecting') return 'Loading …';
  return state === 'ended' ? 'It printed nothing.' : 'Nothing printed yet.';
}

function Length({ execution }: { readonly execution: ExecutionSummary }) {
  const nowMs = useNow();
  const ms = lengthMs(execution, nowMs);
  if (ms === undefined) return null;
  return execution.status === 'running' ? `for ${formatDuration(ms)}` : formatLength(ms);
}

/** Says what of the output is not there, and where it went. */
function Dropped({ output, execution }: { readonly output: LiveOutput; readonly execution: Execution | undefined }) {
  useVersion(output);
  const { droppedCharacters, missingBytes } = output.buffer;
  const notes = [
    droppedCharacters > 0 && `The first ${formatBytes(droppedCharacters)} are no longer shown, to keep the page quick.`,
    missingBytes > 0 && `${formatBytes(missingBytes)} of output were dropped before they could be read.`,
    execution?.output_dropped && 'The stored output was dropped, because newer output needed the room.',
    execution?.oom_killed &&
      `A process was killed because the sandbox ran out of memory (${describeResult({ ...execution, oom_killed: false }).text}).`,
  ].filter((note) => typeof note === 'string');
  if (notes.length === 0) return null;
  return (
    <p role="status" className="flex items-start gap-2 border-line border-b bg-tint px-4 py-1.5 text-[0.8rem]">
      <Info size={15} aria-hidden className="mt-0.5 shrink-0 text-accent" />
      {notes.join(' ')}
    </p>
  );
}

interface SearchState {
  readonly text: string;
  readonly matches: readonly Match[];
  readonly current: number;
  readonly setText: (text: string) => void;
  readonly go: (by: 1 | -1) => void;
}

/** So often a search is repeated while output comes. */
const searchEveryMs = 400;
const nothing: readonly Match[] = [];

function useSearch(output: LiveOutput): SearchState {
  const version = useVersion(output);
  const [text, setText] = useState('');
  const [matches, setMatches] = useState(nothing);
  const [current, setCurrent] = useState(-1);
  const [searchedAt, setSearchedAt] = useState(0);
  useEffect(() => {
    if (text === '') return;
    const search = () => {
      setSearchedAt(Date.now());
      setMatches(findMatches(output.buffer, text));
    };
    const timer = setTimeout(search, Math.max(0, version > 0 ? searchedAt + searchEveryMs - Date.now() : 0));
    return () => clearTimeout(timer);
  }, [output, version, text]);
  return {
    text,
    matches,
    current,
    setText: (next) => {
      setText(next);
      setMatches(next === '' ? nothing : findMatches(output.buffer, next));
      setCurrent(-1);
    },
    go: (by) => setCurrent(step(matches.length, current, by)),
  };
}

function SearchBar({ search: { text, matches, current, setText, go } }: { readonly search: SearchState }) {
  const onKey = (event: KeyboardEvent) => {
    if (event.key === 'Enter') {
      event.preventDefault();
      go(event.shiftKey ? -1 : 1);
    }
    if (event.key === 'Escape' && text !== '') setText('');
  };
  return (
    <div className="flex h-10 shrink-0 items-center gap-1 border-line border-b pr-2 pl-4">
      <Search size={15} aria-hidden className="shrink-0 text-soft" />
      <input
        type="search"
        aria-label="Search in the output"
        placeholder="Search in the output"
        value={text}
        onChange={(event) => setText(event.target.value)}
        onKeyDown={onKey}
        className="h-full min-w-0 grow bg-transparent px-2 text-[max(1rem,0.875rem)] outline-none md:text-sm [&::-webkit-search-cancel-button]:hidden"
      />
      {text !== '' && (
        <>
          <span role="status" className="text-[0.8rem] whitespace-nowrap text-soft tabular-nums">
            {describeMatches(matches.length, current)}
          </span>
          <Button look="quiet" className="!h-8 !px-2" aria-label="Previous match" onClick={() => go(-1)}>
            <ChevronUp size={16} aria-hidden />
          </Button>
          <Button look="quiet" className="!h-8 !px-2" aria-label="Next match" onClick={() => go(1)}>
            <ChevronDown size={16} aria-hidden />
          </Button>
        </>
      )}
    </div>
  );
}

/** Saves a text as a file of the browser. */
function download(text: string, name: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain;charset=utf-8' }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  URL.revokeObjectURL(url);
}
