/** What this browser tab remembers of the terminals of a sandbox. Other tabs have their own arrangement. */
export interface Arrangement {
  /** The terminals that have a tab, by their ids, in order. */
  readonly tabs: readonly string[];
  /** Those whose tab was closed while they went on. */
  readonly detached: readonly string[];
  readonly selected: string | undefined;
}

const nothing: Arrangement = { tabs: [], detached: [], selected: undefined };

/** Arranges the terminals that are running: those with a tab stay in order, new ones follow, and those that have ended are gone. */
export function arrange(remembered: Arrangement, running: readonly string[]): Arrangement {
  const isRunning = new Set(running);
  const tabs = remembered.tabs.filter((id) => isRunning.has(id));
  const detached = remembered.detached.filter((id) => isRunning.has(id) && !tabs.includes(id));
  const others = [...isRunning].filter((id) => !tabs.includes(id) && !detached.includes(id)).sort();
  const shown = [...tabs, ...others];
  const { selected } = remembered;
  return { tabs: shown, detached, selected: selected !== undefined && shown.includes(selected) ? selected : shown[0] };
}

/** Returns an arrangement from what was stored, which may be of another version or anything else. */
export function parseArrangement(text: string | null): Arrangement {
  try {
    const { tabs, detached, selected } = JSON.parse(text ?? '') as Record<string, unknown>;
    return {
      tabs: idsIn(tabs),
      detached: idsIn(detached),
      selected: typeof selected === 'string' ? selected : undefined,
    };
  } catch {
    return nothing;
  }
}

function idsIn(value: unknown): readonly string[] {
  if (!Array.isArray(value)) return [];
  return [...new Set(value.filter((id): id is string => typeof id === 'string'))];
}

const storageKey = (sandboxId: string) => `mayfly-terminals-${sandboxId}`;

export function readArrangement(sandboxId: string): Arrangement {
  try {
    return parseArrangement(sessionStorage.getItem(storageKey(sandboxId)));
  } catch {
    // Storage can be forbidden.
    return nothing;
  }
}

export function rememberArrangement(sandboxId: string, arrangement: Arrangement): void {
  try {
    sessionStorage.setItem(storageKey(sandboxId), JSON.stringify(arrangement));
  } catch {
    // Then a reload shows all terminals.
  }
}
