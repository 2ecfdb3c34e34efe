import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Check } from 'lucide-react';
import type { ReactNode } from 'react';
import { keysQuery } from '../api/queries.ts';
import { Mayfly } from '../layout/mayfly.tsx';
import { buttonClass } from '../parts/button.tsx';
import { SnippetTabs } from './snippet-tabs.tsx';

/** For an account that has no sandbox: the way from a key to the first one. */
export function FirstSandbox() {
  const { data: keys } = useQuery(keysQuery);
  const hasKey = (keys?.active ?? 0) > 0;
  return (
    <div className="overflow-hidden rounded-xl border border-line">
      <div className="relative overflow-hidden border-line border-b bg-panel px-6 py-7 md:px-10 md:py-9">
        <Mayfly className="absolute top-3 right-10 hidden w-58 text-accent opacity-55 lg:block" />
        <h2 className="text-xl font-bold tracking-tight">Your first sandbox</h2>
        <p className="mt-1.5 max-w-xl text-soft">
          A virtual machine of your own, ready in about a second and gone when you are done. Programs create them; you
          watch them here.
        </p>
      </div>
      <ol className="px-6 py-7 md:px-10">
        <Step number={1} title="Create an API key" isDone={hasKey}>
          <p className="text-soft">
            {hasKey ? `You have ${countKeys(keys?.active ?? 0)}. ` : 'A key lets a program use your account. '}
            It is shown once, when it is created.
          </p>
          <Link to="/keys" className={buttonClass(hasKey ? 'plain' : 'primary', 'mt-3')}>
            {hasKey ? 'Your API keys' : 'Create a key'}
          </Link>
        </Step>
        <Step number={2} title="Create a sandbox with it">
          <p className="mb-3 text-soft">
            Put the key into{' '}
            <code className="rounded-sm bg-code px-1.5 py-0.5 font-mono text-[0.82rem]">MAYFLY_API_KEY</code>, then
            choose how:
          </p>
          <SnippetTabs />
        </Step>
        <Step number={3} title="Watch it here" isLast>
          <p className="text-soft">It appears by itself, with the time it has left and what it costs.</p>
        </Step>
      </ol>
    </div>
  );
}

function countKeys(count: number): string {
  return count === 1 ? 'one' : `${count}`;
}

interface StepProps {
  readonly number: number;
  readonly title: string;
  readonly children: ReactNode;
  readonly isDone?: boolean;
  readonly isLast?: boolean;
}

function Step({ number, title, children, isDone = false, isLast = false }: StepProps) {
  return (
    <li className="relative flex gap-4 md:gap-5">
      {!isLast && <span aria-hidden className="absolute top-9 bottom-1 left-[0.9rem] w-px bg-line" />}
      <span
        className={`relative grid size-7 shrink-0 place-items-center rounded-full text-[0.82rem] font-semibold tabular-nums ${isDone ? 'bg-green/14 text-green' : 'bg-tint text-accent'}`}
      >
        {isDone ? (
          <>
            <Check size={15} aria-hidden />
            <span className="sr-only">Done</span>
          </>
        ) : (
          number
        )}
      </span>
      <div className={`min-w-0 max-w-2xl grow ${isLast ? '' : 'pb-8'}`}>
        <h3 className="mb-1 pt-0.5 text-base font-semibold">{title}</h3>
        {children}
      </div>
    </li>
  );
}
