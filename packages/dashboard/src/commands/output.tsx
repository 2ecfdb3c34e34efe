import { formatBytes } from '@mayfly/contract';
import { ArrowDownToLine } from 'lucide-react';
import { type ReactNode, useLayoutEffect, useRef, useState } from 'react';
import type { Colour, Style } from './ansi.ts';
import type { Line } from './output-buffer.ts';
import type { Match } from './search.ts';
import { type LiveOutput, useVersion } from './use-output.ts';

/** All lines have the height of `leading-5`, so that only the lines in view have to exist. */
const lineHeightPx = 20;
/** Lines beyond the edges, for fast scrolling. */
const spareLines = 20;
/** So close to the end counts as the end. */
const endPx = 30;

const colours: Readonly<Record<Colour, string>> = {
  plain: '',
  red: 'text-red',
  green: 'text-green',
  amber: 'text-amber',
  blue: 'text-blue',
  accent: 'text-accent',
  soft: 'text-soft',
};

interface OutputProps {
  readonly output: LiveOutput;
  readonly label: string;
  readonly matches: readonly Match[];
  /** The match that is gone to; it is scrolled into view whenever it is another one. */
  readonly current: Match | undefined;
  /** Shown while there is no output. */
  readonly empty: ReactNode;
}

/** Output that follows its end until somebody scrolls up. Only the lines in view are rendered. */
export function Output({ output, label, matches, current, empty }: OutputProps) {
  useVersion(output);
  const { buffer } = output;
  const { firstLine, lineCount } = buffer;
  const pane = useRef<HTMLDivElement>(null);
  const [scrolled, setScrolled] = useState({ line: 0, lines: 40 });
  const [isFollowing, setIsFollowing] = useState(true);
  const shownFirst = useRef(firstLine);

  // Before it is painted: stay at the end, or at the same lines when earlier ones were dropped.
  useLayoutEffect(() => {
    const shown = pane.current;
    if (!shown) return;
    const dropped = firstLine - shownFirst.current;
    shownFirst.current = firstLine;
    if (isFollowing) shown.scrollTop = shown.scrollHeight;
    else if (dropped > 0) shown.scrollTop -= dropped * lineHeightPx;
  });

  useLayoutEffect(() => {
    const shown = pane.current;
    if (!shown || !current) return;
    setIsFollowing(false);
    const top = (current.line - output.buffer.firstLine) * lineHeightPx;
    if (top < shown.scrollTop || top > shown.scrollTop + shown.clientHeight - 2 * lineHeightPx) {
      shown.scrollTop = top - shown.clientHeight / 2;
    }
    shown.querySelector('[data-current]')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [current, output]);

  const onScroll = () => {
    const shown = pane.current;
    if (!shown) return;
    setScrolled({
      line: Math.floor(shown.scrollTop / lineHeightPx),
      lines: Math.ceil(shown.clientHeight / lineHeightPx),
    });
    setIsFollowing(shown.scrollTop + shown.clientHeight >= shown.scrollHeight - endPx);
  };

  const begin = Math.max(0, Math.min(scrolled.line, lineCount - scrolled.lines) - spareLines);
  const end = Math.min(lineCount, Math.max(scrolled.line + scrolled.lines, begin + scrolled.lines) + spareLines);
  const numbers = Array.from({ length: Math.max(0, end - begin) }, (_, index) => firstLine + begin + index);
  return (
    <div className="relative flex min-h-40 flex-col">
      <div
        ref={pane}
        role="log"
        aria-live="off"
        aria-label={label}
        // biome-ignore lint/a11y/noNoninteractiveTabindex: the keyboard scrolls it.
        tabIndex={0}
        onScroll={onScroll}
        className="min-h-40 overflow-auto bg-code py-3 font-mono text-[0.8rem] focus-visible:-outline-offset-2"
      >
        {lineCount === 0 ? (
          <p className="px-4 font-sans text-sm text-soft">{empty}</p>
        ) : (
          <div className="relative min-w-fit" style={{ height: lineCount * lineHeightPx }}>
            <div className="min-w-fit" style={{ transform: `translateY(${begin * lineHeightPx}px)` }}>
              {numbers.map((number) => (
                <OutputLine
                  key={number}
                  line={buffer.line(number)}
                  number={number}
                  matches={matches}
                  current={current}
                />
              ))}
            </div>
          </div>
        )}
      </div>
      {!isFollowing && lineCount > 0 && (
        <button
          type="button"
          onClick={() => setIsFollowing(true)}
          className="absolute right-4 bottom-4 inline-flex h-8 animate-rise items-center gap-1.5 rounded-full bg-ink px-3.5 text-[0.8rem] font-medium text-page shadow-float"
        >
          <ArrowDownToLine size={14} aria-hidden />
          Jump to the end
        </button>
      )}
    </div>
  );
}

interface OutputLineProps {
  readonly line: Line | undefined;
  readonly number: number;
  readonly matches: readonly Match[];
  readonly current: Match | undefined;
}

function OutputLine({ line, number, matches, current }: OutputLineProps) {
  if (line === undefined) return <div className="h-5" />;
  if (line.kind === 'gap') {
    return (
      <div className="flex h-5 items-center gap-3 px-4 font-sans text-[0.75rem] text-amber">
        <span aria-hidden className="h-px w-6 bg-current" />
        {formatBytes(line.bytes)} of output were dropped
        <span aria-hidden className="h-px grow bg-current" />
      </div>
    );
  }
  const hasErrors = line.marks.some(({ style }) => style.stream === 'stderr');
  return (
    <div
      className={`h-5 border-l-3 pr-4 pl-3.25 leading-5 whitespace-pre ${hasErrors ? 'border-red-mark/70 bg-red/5' : 'border-transparent'}`}
    >
      {hasErrors && <span className="sr-only">stderr: </span>}
      {partsOf(line, matchesIn(matches, number), current).map(({ text, style, match }, index) => (
        <span
          key={index}
          {...(match !== undefined && match === current && { 'data-current': true })}
          className={`${classOf(style)} ${match === undefined ? '' : match === current ? 'rounded-xs bg-accent !text-on-accent' : 'rounded-xs bg-amber-mark/35 !text-ink'}`}
        >
          {text}
        </span>
      ))}
    </div>
  );
}

function classOf({ stream, colour, isBold }: Style): string {
  const shown = colour === 'plain' && stream === 'stderr' ? 'text-red' : colours[colour];
  return isBold ? `${shown} font-bold` : shown;
}

interface Part {
  readonly text: string;
  readonly style: Style;
  readonly match: Match | undefined;
}

/** Cuts a line where its style changes and where matches begin and end. */
function partsOf(
  { text, marks }: Extract<Line, { kind: 'text' }>,
  matches: readonly Match[],
  current: Match | undefined,
): readonly Part[] {
  const cuts = new Set([
    0,
    text.length,
    ...marks.map(({ from }) => from),
    ...matches.flatMap(({ from, to }) => [from, to]),
  ]);
  const places = [...cuts].sort((a, b) => a - b);
  return places.slice(0, -1).flatMap((from, index): readonly Part[] => {
    const style = marks.findLast((mark) => mark.from <= from)?.style;
    if (!style) return [];
    const match = matches.find((one) => one.from <= from && from < one.to);
    const isCurrent = match?.line === current?.line && match?.from === current?.from;
    return [{ text: text.slice(from, places[index + 1]), style, match: isCurrent ? current : match }];
  });
}

/** The matches of a line, which are next to each other because all are in order. */
function matchesIn(matches: readonly Match[], line: number): readonly Match[] {
  let low = 0;
  let high = matches.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((matches[middle]?.line ?? 0) < line) low = middle + 1;
    else high = middle;
  }
  const found: Match[] = [];
  for (let match = matches[low]; match?.line === line; match = matches[low]) {
    found.push(match);
    low += 1;
  }
  return found;
}
