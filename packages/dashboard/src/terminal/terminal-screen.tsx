import { RotateCw, SquareTerminal, WifiOff } from 'lucide-react';
import { type ReactNode, type Ref, useEffect, useImperativeHandle, useRef, useState } from 'react';
import { Button } from '../parts/button.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import type { ConnectionState } from './connection.ts';
import { usePreferences } from './preferences.ts';
import type { Told } from './reconnect.ts';
import type { Tab } from './tabs.ts';
import { TerminalView } from './terminal-view.ts';

export interface ScreenHandle {
  focus(): void;
  hangUp(): boolean;
}

interface TerminalScreenProps {
  readonly ref: Ref<ScreenHandle>;
  readonly tab: Tab;
  readonly label: string;
  readonly path: string;
  readonly isShown: boolean;
  readonly ask: () => Promise<Told>;
  readonly onChange: (changes: Partial<Pick<Tab, 'session' | 'title' | 'state'>>) => void;
  readonly onLeave: () => void;
  readonly onRestart: () => void;
}

/** The screen of one terminal, connected as long as it is rendered. It is kept while another tab is shown. */
export function TerminalScreen({ ref, tab, label, path, isShown, onRestart, ...given }: TerminalScreenProps) {
  const element = useRef<HTMLDivElement>(null);
  const view = useRef<TerminalView>(undefined);
  const preferences = usePreferences();
  // The connection outlives renderings; it calls what the latest one gave.
  const latest = useRef({ ...given, preferences, session: tab.session });
  useEffect(() => {
    latest.current = { ...given, preferences, session: tab.session };
  });
  useEffect(() => {
    if (!element.current) return;
    const { preferences: first, session } = latest.current;
    const shown = new TerminalView(element.current, {
      path,
      session,
      preferences: first,
      ask: () => latest.current.ask(),
      onSession: (id) => latest.current.onChange({ session: id }),
      onState: (state) => latest.current.onChange({ state }),
      onTitle: (title) => latest.current.onChange({ title }),
      onLeave: () => latest.current.onLeave(),
    });
    view.current = shown;
    return () => shown.dispose();
  }, [path]);
  useEffect(() => view.current?.prefer(preferences), [preferences]);
  useImperativeHandle(ref, () => ({
    focus: () => view.current?.focus(),
    hangUp: () => view.current?.hangUp() ?? false,
  }));
  return (
    <div
      role="tabpanel"
      id={`terminal-${tab.key}`}
      aria-label={label}
      hidden={!isShown}
      className="relative min-h-0 grow overflow-hidden"
    >
      <div ref={element} className="absolute inset-0 top-2 left-3 font-mono" />
      <StateBar state={tab.state} onTryNow={() => view.current?.tryNow()} onRestart={onRestart} />
    </div>
  );
}

interface StateBarProps {
  readonly state: ConnectionState;
  readonly onTryNow: () => void;
  readonly onRestart: () => void;
}

/** Says what is wrong with the connection, over the screen, which stays as it was. */
function StateBar({ state, onTryNow, onRestart }: StateBarProps) {
  const isSlow = useDelayed(state.kind === 'connecting');
  switch (state.kind) {
    case 'open':
      return null;
    case 'connecting':
      return isSlow ? (
        <Bar icon={<SquareTerminal size={17} aria-hidden className="animate-breathe" />}>Connecting …</Bar>
      ) : null;
    case 'lost':
      return (
        <Bar
          icon={<WifiOff size={17} aria-hidden className="text-amber" />}
          action={
            <Button className="h-8 px-3" isPending={state.atMs === undefined} onClick={onTryNow}>
              Try now
            </Button>
          }
        >
          <strong className="font-semibold">The connection was lost.</strong> The shell goes on.{' '}
          {state.atMs !== undefined && <Countdown atMs={state.atMs} />}
        </Bar>
      );
    case 'ended':
      return (
        <Bar
          icon={<SquareTerminal size={17} aria-hidden className="text-soft" />}
          action={<StartAgain onClick={onRestart} />}
        >
          {state.exitCode === undefined ? (
            'The shell has ended.'
          ) : (
            <>
              The shell exited with code <code className="font-mono font-semibold">{state.exitCode}</code>.
            </>
          )}
        </Bar>
      );
    case 'gone':
      return (
        <Bar icon={<WifiOff size={17} aria-hidden className="text-red" />} action={<StartAgain onClick={onRestart} />}>
          {state.reason}
        </Bar>
      );
  }
}

function StartAgain({ onClick }: { readonly onClick: () => void }) {
  return (
    <Button className="h-8 px-3" icon={<RotateCw size={15} aria-hidden />} onClick={onClick}>
      Start a new shell
    </Button>
  );
}

interface BarProps {
  readonly icon: ReactNode;
  readonly children: ReactNode;
  readonly action?: ReactNode;
}

function Bar({ icon, children, action }: BarProps) {
  return (
    <div
      role="status"
      className="absolute inset-x-3 bottom-3 z-10 flex animate-rise flex-wrap items-center gap-x-3 gap-y-2 rounded-lg border border-line bg-float py-2 pr-2 pl-3.5 text-sm shadow-float"
    >
      {icon}
      <span className="min-w-0 grow basis-48 wrap-anywhere">{children}</span>
      {action}
    </div>
  );
}

/** It is not announced, which every second would be too often. */
function Countdown({ atMs }: { readonly atMs: number }) {
  const [nowMs, setNowMs] = useState(Date.now);
  useEffect(() => {
    const timer = setInterval(() => setNowMs(Date.now()), 250);
    return () => clearInterval(timer);
  }, []);
  return (
    <span aria-hidden className="text-soft tabular-nums">
      Trying again in {Math.max(1, Math.ceil((atMs - nowMs) / 1_000))} s.
    </span>
  );
}
