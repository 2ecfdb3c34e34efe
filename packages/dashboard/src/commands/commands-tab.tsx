import { useInfiniteQuery, useQuery } from '@tanstack/react-query';
import { useNavigate, useSearch } from '@tanstack/react-router';
import { SquareTerminal } from 'lucide-react';
import { Button } from '../parts/button.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Skeleton } from '../parts/page.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { useSandbox } from '../sandbox/queries.ts';
import { ExecutionList } from './execution-list.tsx';
import { ExecutionView } from './execution-view.tsx';
import { executionQuery, executionsQuery } from './queries.ts';
import { rememberedCommands } from './remembered.ts';
import { RunBox } from './run-box.tsx';

/** Runs commands and shows the output of all commands, no matter who ran them. They can still be read when the sandbox has ended. */
export function CommandsTab() {
  const sandbox = useSandbox();
  const { id, status } = sandbox;
  const { execution: selected } = useSearch({ from: '/signed-in/sandboxes/$id/commands' });
  const navigate = useNavigate();
  const isLive = status === 'running';
  const executions = useInfiniteQuery(executionsQuery(id, isLive));
  const isSlow = useDelayed(executions.isPending);
  const commands = new Map(rememberedCommands(id).map((remembered) => [remembered.id, remembered.command]));
  const listed = executions.data?.find((execution) => execution.id === selected);
  const isUnlisted = selected !== undefined && listed === undefined && executions.data !== undefined;
  const { data: unlisted } = useQuery({ ...executionQuery(selected ?? ''), enabled: isUnlisted });
  const show = (execution: string | undefined) =>
    void navigate({
      to: '/sandboxes/$id/commands',
      params: { id },
      search: execution === undefined ? {} : { execution },
      resetScroll: false,
    });
  const list = executions.data ?? [];
  return (
    <div className="space-y-6">
      <h2 className="sr-only">Commands</h2>
      {isLive && <RunBox sandbox={sandbox} onStarted={show} />}
      {executions.isPending && isSlow && <Skeleton />}
      {executions.isError && !executions.data && (
        <ErrorNotice
          error={executions.error}
          action={<Button onClick={() => void executions.refetch()}>Try again</Button>}
        />
      )}
      <div className={selected === undefined ? '' : 'grid items-start gap-5 lg:grid-cols-[21rem_minmax(0,1fr)]'}>
        {selected !== undefined && (
          <div className="min-w-0 lg:order-2">
            <ExecutionView
              key={selected}
              id={selected}
              summary={listed ?? unlisted}
              command={commands.get(selected)}
              onClose={() => show(undefined)}
            />
          </div>
        )}
        <div className="min-w-0">
          {list.length > 0 && <ExecutionList executions={list} commands={commands} selected={selected} />}
          {executions.data?.length === 0 && selected === undefined && <NoCommands isLive={isLive} />}
          {executions.hasNextPage && (
            <div className="mt-4 flex justify-center">
              <Button isPending={executions.isFetchingNextPage} onClick={() => void executions.fetchNextPage()}>
                Show older ones
              </Button>
            </div>
          )}
        </div>
      </div>
    </div>
  );
}

function NoCommands({ isLive }: { readonly isLive: boolean }) {
  return (
    <div className="animate-appear rounded-xl border border-line border-dashed px-6 py-12 text-center">
      <SquareTerminal size={28} aria-hidden className="mx-auto mb-3 text-accent" />
      <p className="text-base font-medium">{isLive ? 'No command yet' : 'No command was run in it'}</p>
      {isLive && (
        <p className="mx-auto mt-1 max-w-md text-soft">
          Run one above. Those that programs run in this sandbox appear here too, with their output.
        </p>
      )}
    </div>
  );
}
