import type { ExecutionSummary } from '@mayfly/contract';
import { Link } from '@tanstack/react-router';
import { Ago } from '../parts/ago.tsx';
import { formatLength } from './describe.ts';
import { ResultBadge } from './result-badge.tsx';

interface ExecutionListProps {
  readonly executions: readonly ExecutionSummary[];
  /** The commands that are known, by the id of their execution. */
  readonly commands: ReadonlyMap<string, string>;
  readonly selected: string | undefined;
}

/** The executions of a sandbox as links to their output. */
export function ExecutionList({ executions, commands, selected }: ExecutionListProps) {
  return (
    <ul className="divide-y divide-line overflow-hidden rounded-lg border border-line">
      {executions.map((execution) => {
        const { id, sandbox_id, started_at, duration_ms } = execution;
        const isSelected = id === selected;
        return (
          <li key={id}>
            <Link
              to="/sandboxes/$id/commands"
              params={{ id: sandbox_id }}
              search={{ execution: id }}
              resetScroll={false}
              aria-current={isSelected ? 'true' : undefined}
              className={`block px-4 py-2.5 transition-colors focus-visible:-outline-offset-2 ${isSelected ? 'bg-tint' : 'hover:bg-panel'}`}
            >
              <code className={`block truncate font-mono text-[0.8rem] ${commands.has(id) ? '' : 'text-soft'}`}>
                {commands.get(id) ?? id}
              </code>
              <span className="mt-0.5 flex items-center gap-3 text-[0.8rem] text-soft tabular-nums">
                <ResultBadge execution={execution} />
                {duration_ms !== null && <span>{formatLength(duration_ms)}</span>}
                {started_at !== null && (
                  <span className="ml-auto">
                    <Ago at={started_at} />
                  </span>
                )}
              </span>
            </Link>
          </li>
        );
      })}
    </ul>
  );
}
