import type { ExecutionSummary } from '@mayfly/contract';
import { Check, CircleAlert } from 'lucide-react';
import { describeResult } from './describe.ts';

const looks = { running: 'text-blue', good: 'text-green', bad: 'text-red' } as const;

/** What has become of a command, in its colour. */
export function ResultBadge({ execution }: { readonly execution: ExecutionSummary }) {
  const { text, kind } = describeResult(execution);
  return (
    <span className={`inline-flex items-center gap-1.5 text-[0.8rem] font-medium whitespace-nowrap ${looks[kind]}`}>
      {kind === 'running' && <span aria-hidden className="mx-1 size-1.5 animate-breathe rounded-full bg-current" />}
      {kind === 'good' && <Check size={14} aria-hidden />}
      {kind === 'bad' && <CircleAlert size={14} aria-hidden />}
      {text}
    </span>
  );
}
