import type { Port } from '@mayfly/contract';
import { useQuery } from '@tanstack/react-query';
import { ExternalLink, RotateCw, X } from 'lucide-react';
import { useEffect, useRef, useState } from 'react';
import { hasOwnRootQuery } from './queries.ts';

interface PreviewFrameProps {
  readonly port: Port;
  readonly onClose: () => void;
}

const iconButton = 'grid size-8 shrink-0 place-items-center rounded-md text-soft hover:bg-tint hover:text-ink';

/**
 * The page behind a port, in a frame. It is untrusted: it is of another origin, and it may run scripts and send forms, but neither open windows nor
 * lead this page elsewhere. Browsers do not tell whether it could be loaded, so what to do if not is always there.
 */
export function PreviewFrame({ port: { port, url }, onClose }: PreviewFrameProps) {
  const [loads, setLoads] = useState(0);
  const section = useRef<HTMLElement>(null);
  useEffect(() => {
    section.current?.scrollIntoView({ block: 'start' });
  }, []);
  return (
    <section
      ref={section}
      aria-label={`Preview of port ${port}`}
      className="scroll-mt-20 max-md:scroll-mt-32 animate-appear overflow-hidden rounded-lg border border-line"
    >
      <header className="flex items-center gap-1 border-line border-b bg-panel py-1.5 pr-1.5 pl-4">
        <h2 className="mr-2 text-sm font-medium whitespace-nowrap">Port {port}</h2>
        <span className="min-w-0 grow truncate font-mono text-[0.8rem] text-soft">{url}</span>
        <button
          type="button"
          aria-label="Load it again"
          title="Load it again"
          className={iconButton}
          onClick={() => setLoads(loads + 1)}
        >
          <RotateCw size={15} aria-hidden />
        </button>
        <a
          href={url}
          target="_blank"
          rel="noreferrer"
          aria-label="Open in a new tab"
          title="Open in a new tab"
          className={iconButton}
        >
          <ExternalLink size={15} aria-hidden />
        </a>
        <button
          type="button"
          aria-label="Close the preview"
          title="Close the preview"
          className={iconButton}
          onClick={onClose}
        >
          <X size={16} aria-hidden />
        </button>
      </header>
      <iframe
        key={loads}
        title={`Page on port ${port}`}
        src={url}
        sandbox="allow-scripts allow-same-origin allow-forms"
        referrerPolicy="no-referrer"
        className="block h-[min(40rem,70dvh)] w-full bg-[#ffffff]"
      />
      <NothingHere url={url} />
    </section>
  );
}

/** Why the frame may stay empty, and what helps. */
function NothingHere({ url }: { readonly url: string }) {
  const { data: hasOwnRoot } = useQuery(hasOwnRootQuery);
  return (
    <p className="border-line border-t bg-panel px-4 py-2 text-[0.8rem] text-soft">
      Nothing here?{' '}
      {hasOwnRoot === true && (
        <>
          Previews have a certificate of this service, which your browser has to trust first:{' '}
          <a href={url} target="_blank" rel="noreferrer" className="text-accent underline underline-offset-2">
            open it in a new tab
          </a>{' '}
          and accept it there, or install{' '}
          <a href="/preview-root.crt" download className="text-accent underline underline-offset-2">
            the root certificate
          </a>{' '}
          (
          <a
            href="/docs#previews"
            target="_blank"
            rel="noreferrer"
            className="text-accent underline underline-offset-2"
          >
            how
          </a>
          ).{' '}
        </>
      )}
      Some servers also refuse to be shown in a frame.
    </p>
  );
}
