/** Where somebody is in the commands that were run before; `index` is undefined in front of the field's own text. */
export interface HistoryPlace {
  readonly index: number | undefined;
  /** What was typed before going back. */
  readonly draft: string;
}

export const atDraft: HistoryPlace = { index: undefined, draft: '' };

interface Step {
  readonly place: HistoryPlace;
  readonly text: string;
}

/** Returns the command before the one that is shown; undefined if there is none. `commands` has the newest last. */
export function earlier(commands: readonly string[], { index, draft }: HistoryPlace, shown: string): Step | undefined {
  const next = (index ?? commands.length) - 1;
  const text = commands[next];
  if (text === undefined) return undefined;
  return { place: { index: next, draft: index === undefined ? shown : draft }, text };
}

/** Returns the command after the one that is shown, and after the newest what was typed; undefined in front of that. */
export function later(commands: readonly string[], { index, draft }: HistoryPlace): Step | undefined {
  if (index === undefined) return undefined;
  const text = commands[index + 1];
  return text === undefined
    ? { place: { index: undefined, draft }, text: draft }
    : { place: { index: index + 1, draft }, text };
}

/** Whether an arrow key leaves the text upwards or downwards, instead of moving in it. */
export function leavesText(key: string, text: string, caret: number): 'earlier' | 'later' | undefined {
  if (key === 'ArrowUp' && !text.slice(0, caret).includes('\n')) return 'earlier';
  if (key === 'ArrowDown' && !text.slice(caret).includes('\n')) return 'later';
  return undefined;
}
