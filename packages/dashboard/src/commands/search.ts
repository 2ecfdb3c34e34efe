import type { OutputBuffer } from './output-buffer.ts';

/** Where a text was found: the number of the line, and the part of it. */
export interface Match {
  readonly line: number;
  readonly from: number;
  readonly to: number;
}

/** More are not counted. */
export const mostMatches = 10_000;

/** Returns where the text is in what is held, in order, whatever its case. An empty text is nowhere. */
export function findMatches(buffer: OutputBuffer, text: string, most = mostMatches): readonly Match[] {
  if (text === '') return [];
  const wanted = new RegExp(text.replace(/[\\^$.*+?()[\]{}|]/g, '\\$&'), 'giu');
  const matches: Match[] = [];
  const end = buffer.firstLine + buffer.lineCount;
  for (let number = buffer.firstLine; number < end; number += 1) {
    const line = buffer.line(number);
    if (line?.kind !== 'text') continue;
    for (const found of line.text.matchAll(wanted)) {
      matches.push({ line: number, from: found.index, to: found.index + found[0].length });
      if (matches.length === most) return matches;
    }
  }
  return matches;
}

/** Returns the index of the match to go to from the current one, around the ends; -1 if there is none. */
export function step(count: number, current: number, by: 1 | -1): number {
  if (count === 0) return -1;
  if (current < 0 || current >= count) return by === 1 ? 0 : count - 1;
  return (current + by + count) % count;
}

/** "3 of 12", "12 found", "nothing found" */
export function describeMatches(count: number, current: number): string {
  if (count === 0) return 'nothing found';
  const shown = count >= mostMatches ? `${mostMatches.toLocaleString('en')}+` : count.toLocaleString('en');
  return current < 0 ? `${shown} found` : `${(current + 1).toLocaleString('en')} of ${shown}`;
}
