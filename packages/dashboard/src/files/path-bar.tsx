import { ArrowUp, ChevronRight, Pencil } from 'lucide-react';
import { type FormEvent, Fragment, useState } from 'react';
import { readableName } from './names.ts';
import { foldersAbove, nameOf, parentOf, resolvePath } from './paths.ts';

interface PathBarProps {
  readonly path: string;
  /** The folder that relative paths begin in. */
  readonly folder: string;
  readonly onGo: (path: string) => void;
}

/** Where one is: each folder leads there, and the whole can be typed. */
export function PathBar({ path, folder, onGo }: PathBarProps) {
  const [isTyping, setIsTyping] = useState(false);
  if (isTyping) return <PathBox path={path} folder={folder} onGo={onGo} onClose={() => setIsTyping(false)} />;
  const above = foldersAbove(path, '/');
  return (
    <nav
      aria-label="Path"
      className="flex h-10 min-w-0 grow items-center gap-1 rounded-md border border-line pr-1 pl-1"
    >
      <button
        type="button"
        aria-label="Parent folder"
        title="Parent folder"
        disabled={path === '/'}
        onClick={() => onGo(parentOf(path))}
        className="grid size-8 shrink-0 place-items-center rounded-md text-soft hover:bg-panel hover:text-ink disabled:opacity-40"
      >
        <ArrowUp size={16} aria-hidden />
      </button>
      <ol className="flex min-w-0 grow items-center overflow-x-auto font-mono text-[0.82rem] whitespace-nowrap [scrollbar-width:none]">
        {above.map((one) => (
          <Fragment key={one}>
            <li>
              <button
                type="button"
                onClick={() => onGo(one)}
                className="min-w-6 rounded-sm px-1 py-1 text-soft hover:text-accent focus-visible:-outline-offset-2"
              >
                {one === '/' ? '/' : readableName(nameOf(one))}
              </button>
            </li>
            {one !== '/' && (
              <li aria-hidden>
                <ChevronRight size={13} className="text-soft" />
              </li>
            )}
          </Fragment>
        ))}
        <li aria-current="page" className="px-1 text-ink">
          {path === '/' ? '/' : readableName(nameOf(path))}
        </li>
      </ol>
      <button
        type="button"
        aria-label="Type a path"
        title="Type a path"
        onClick={() => setIsTyping(true)}
        className="grid size-8 shrink-0 place-items-center rounded-md text-soft hover:bg-panel hover:text-ink"
      >
        <Pencil size={15} aria-hidden />
      </button>
    </nav>
  );
}

function PathBox({ path, folder, onGo, onClose }: PathBarProps & { readonly onClose: () => void }) {
  const [typed, setTyped] = useState(path);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    // A field shows no line breaks; what was not changed stays what it was.
    if (typed !== path) onGo(resolvePath(typed, folder));
    onClose();
  };
  return (
    <form onSubmit={submit} className="min-w-0 grow">
      <input
        // It replaces what was clicked.
        ref={(field) => field?.focus()}
        aria-label="Path"
        value={typed}
        spellCheck={false}
        autoComplete="off"
        onChange={(event) => setTyped(event.target.value)}
        onKeyDown={(event) => {
          if (event.key === 'Escape') onClose();
        }}
        onBlur={onClose}
        className="input font-mono !text-[0.82rem]"
      />
    </form>
  );
}
