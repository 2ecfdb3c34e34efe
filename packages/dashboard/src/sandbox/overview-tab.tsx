import { Connect } from './connect.tsx';
import { Facts } from './facts.tsx';
import { useSandbox } from './queries.ts';
import { Charts } from './stats/charts.tsx';

/** What the sandbox is and, while it runs, what it uses and how to connect to it. */
export function OverviewTab() {
  const sandbox = useSandbox();
  const isRunning = sandbox.status === 'running';
  return (
    <div className="grid items-start gap-x-8 gap-y-9 lg:grid-cols-[minmax(0,1fr)_19rem]">
      {isRunning && (
        <div className="min-w-0 space-y-9">
          <Charts sandbox={sandbox} />
          <Connect sandbox={sandbox} />
        </div>
      )}
      <div className={isRunning ? '' : 'max-w-md'}>
        <Facts sandbox={sandbox} />
      </div>
    </div>
  );
}
