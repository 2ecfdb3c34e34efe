import { useQuery } from '@tanstack/react-query';
import { Link } from '@tanstack/react-router';
import { Check, Plus, SquareTerminal } from 'lucide-react';
import { type ReactNode, useState } from 'react';
import { keysQuery } from '../api/queries.ts';
import { CreateKey } from '../keys/create-key.tsx';
import { useNewKey } from '../keys/new-key.ts';
import { Mayfly } from '../layout/mayfly.tsx';
import { Button, buttonClass } from '../parts/button.tsx';
import type { FirstSteps } from './first-steps.ts';
import { SnippetTabs } from './snippet-tabs.tsx';
import { firstCommandSnippets, firstSandboxSnippets } from './snippets.ts';
import { useNoteTerminal } from './use-first-steps.ts';

interface FirstSandboxProps {
  readonly steps: FirstSteps;
  readonly onCreate: () => void;
  readonly onHide: () => void;
}

/** The way from a key to the first sandbox and its first command. Each step is ticked off when it has happened. */
export function FirstSandbox({ steps: { hasKey: hasOne, sandbox, hasCommand }, onCreate, onHide }: FirstSandboxProps) {
  const { data: keys } = useQuery(keysQuery);
  const [isCreatingKey, setIsCreatingKey] = useState(false);
  const key = useNewKey();
  const noteTerminal = useNoteTerminal();
  const hasKey = hasOne || key !== undefined;
  const target = { origin: location.origin, key };
  const isOver = hasKey && sandbox !== undefined && hasCommand;
  return (
    <section aria-label="First steps" className="mb-8 animate-appear overflow-hidden rounded-xl border border-line">
      <div className="relative overflow-hidden border-line border-b bg-panel px-6 py-7 md:px-10 md:py-9">
        <Mayfly className="absolute top-3 right-10 hidden w-58 text-accent opacity-55 lg:block" />
        <h2 className="text-xl font-bold tracking-tight">{isOver ? 'That was all' : 'Your first sandbox'}</h2>
        <p className="mt-1.5 max-w-xl text-soft">
          {isOver
            ? 'A key, a sandbox and a command in it. The rest is in the documentation of the API.'
            : 'A virtual machine of your own, ready in about a second and gone when you are done.'}
        </p>
        {(sandbox !== undefined || isOver) && (
          <Button look={isOver ? 'primary' : 'plain'} className="mt-4" onClick={onHide}>
            {isOver ? 'Done' : 'Hide these steps'}
          </Button>
        )}
      </div>
      <ol className="px-6 py-7 md:px-10">
        <Step number={1} title="Create an API key" isDone={hasKey}>
          <p className="text-soft">
            {key === undefined
              ? 'A key lets a program use your account. It is shown once, when it is created.'
              : 'Your new key is in the code below until you close or reload this page.'}
          </p>
          {!hasKey && (
            <Button look="primary" className="mt-3" disabled={!keys} onClick={() => setIsCreatingKey(true)}>
              Create a key
            </Button>
          )}
          {hasKey && key === undefined && (
            <Link to="/keys" className={buttonClass('plain', 'mt-3')}>
              Your API keys
            </Link>
          )}
        </Step>
        <Step number={2} title="Create a sandbox" isDone={sandbox !== undefined}>
          {sandbox === undefined ? (
            <>
              <p className="mb-3 text-soft">{key === undefined && <KeyInEnvironment />}It appears here by itself.</p>
              <SnippetTabs snippets={firstSandboxSnippets(target)} what="creates a sandbox" />
              <Button className="mt-3" icon={<Plus size={17} aria-hidden />} onClick={onCreate}>
                Or create it here
              </Button>
            </>
          ) : (
            <p className="text-soft">
              <Link
                to="/sandboxes/$id"
                params={{ id: sandbox.id }}
                className="font-medium text-ink underline decoration-accent/50 underline-offset-3 hover:text-accent"
              >
                {sandbox.name ?? sandbox.id}
              </Link>{' '}
              {sandbox.status === 'running' ? 'is running.' : 'is starting.'}
            </p>
          )}
        </Step>
        <Step number={3} title="Run a command in it" isDone={hasCommand} isLast>
          {sandbox === undefined ? (
            <p className="text-soft">As soon as it runs, from outside or in a terminal on this page.</p>
          ) : (
            <>
              <SnippetTabs snippets={firstCommandSnippets(target, sandbox.id)} what="runs a command" />
              {sandbox.status === 'running' && (
                <Link
                  to="/sandboxes/$id/terminal"
                  params={{ id: sandbox.id }}
                  onClick={() => noteTerminal(sandbox.id)}
                  className={buttonClass(hasCommand ? 'plain' : 'primary', 'mt-3')}
                >
                  <SquareTerminal size={17} aria-hidden />
                  Open its terminal
                </Link>
              )}
            </>
          )}
        </Step>
      </ol>
      {isCreatingKey && keys && <CreateKey keys={keys} onClose={() => setIsCreatingKey(false)} />}
    </section>
  );
}

function KeyInEnvironment() {
  return (
    <>
      Put the key into <code className="rounded-sm bg-code px-1.5 py-0.5 font-mono text-[0.82rem]">MAYFLY_API_KEY</code>
      , then choose how.{' '}
    </>
  );
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
