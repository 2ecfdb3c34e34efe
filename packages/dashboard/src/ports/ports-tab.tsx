import type { Port } from '@mayfly/contract';
import { useQuery } from '@tanstack/react-query';
import { ExternalLink, Globe, PanelBottom, QrCode as QrIcon } from 'lucide-react';
import { useState } from 'react';
import { Ago } from '../parts/ago.tsx';
import { Button, buttonClass } from '../parts/button.tsx';
import { CopyButton } from '../parts/copy-button.tsx';
import { Dialog } from '../parts/dialog.tsx';
import { ErrorNotice } from '../parts/notice.tsx';
import { Skeleton } from '../parts/page.tsx';
import { useDelayed } from '../parts/use-delayed.ts';
import { NeedsMachine } from '../sandbox/outcome.tsx';
import { useSandbox } from '../sandbox/queries.ts';
import { QrCode } from '../settings/qr-code.tsx';
import { ClosePort } from './close-port.tsx';
import { OpenPort } from './open-port.tsx';
import { PreviewFrame } from './preview-frame.tsx';
import { portsQuery } from './queries.ts';

/** Servers in the sandbox on public URLs. */
export function PortsTab() {
  const sandbox = useSandbox();
  if (sandbox.status === 'running') return <Ports sandboxId={sandbox.id} />;
  return (
    <NeedsMachine sandbox={sandbox} what="A port">
      Its ports were closed when its machine ended, and their URLs do not work any more.
    </NeedsMachine>
  );
}

function Ports({ sandboxId }: { readonly sandboxId: string }) {
  const ports = useQuery(portsQuery(sandboxId));
  const [closing, setClosing] = useState<Port>();
  const [coded, setCoded] = useState<Port>();
  const [framed, setFramed] = useState<number>();
  const isSlow = useDelayed(ports.isPending);
  const open = ports.data?.data ?? [];
  const shown = open.find(({ port }) => port === framed);
  return (
    <div className="space-y-6">
      <h2 className="sr-only">Ports</h2>
      <OpenPort sandboxId={sandboxId} />
      {ports.isPending && isSlow && <Skeleton rows={2} />}
      {ports.isError && !ports.data && (
        <ErrorNotice error={ports.error} action={<Button onClick={() => void ports.refetch()}>Try again</Button>} />
      )}
      {ports.data && open.length === 0 && <NoPorts />}
      {open.length > 0 && (
        <div className="table-box">
          <table className="table">
            <thead>
              <tr>
                <th scope="col">Port</th>
                <th scope="col">URL</th>
                <th scope="col">Opened</th>
                <th scope="col" colSpan={2}>
                  <span className="sr-only">Actions</span>
                </th>
              </tr>
            </thead>
            <tbody>
              {open.map((port) => (
                <PortRow
                  key={port.port}
                  port={port}
                  isFramed={port.port === framed}
                  onFrame={() => setFramed(port.port === framed ? undefined : port.port)}
                  onCode={() => setCoded(port)}
                  onClose={() => setClosing(port)}
                />
              ))}
            </tbody>
          </table>
        </div>
      )}
      {shown && <PreviewFrame key={shown.url} port={shown} onClose={() => setFramed(undefined)} />}
      {open.length > 0 && (
        <p className="text-sm text-soft">
          Anybody who has a URL reaches the port, without signing in. Close ports that are no longer needed.
        </p>
      )}
      {closing && <ClosePort port={closing} onClose={() => setClosing(undefined)} />}
      {coded && (
        <Dialog title={`Port ${coded.port}`} onClose={() => setCoded(undefined)}>
          <div className="flex flex-col items-center gap-4">
            <QrCode text={coded.url} label={`QR code of the URL of port ${coded.port}`} />
            <p className="max-w-full text-center font-mono text-[0.8rem] wrap-anywhere text-soft">{coded.url}</p>
          </div>
        </Dialog>
      )}
    </div>
  );
}

interface PortRowProps {
  readonly port: Port;
  readonly isFramed: boolean;
  readonly onFrame: () => void;
  readonly onCode: () => void;
  readonly onClose: () => void;
}

function PortRow({ port: { port, url, created_at }, isFramed, onFrame, onCode, onClose }: PortRowProps) {
  return (
    <tr>
      <th scope="row" className="font-mono tabular-nums">
        {port}
      </th>
      <td data-label="URL" className="max-md:col-span-2">
        <span className="-my-1 flex max-w-120 min-w-0 items-center gap-1">
          <a
            href={url}
            target="_blank"
            rel="noreferrer"
            className="truncate py-0.5 font-mono text-[0.8rem] text-accent underline-offset-2 hover:underline"
          >
            {url}
          </a>
          <CopyButton text={url} what="the URL" isSmall />
        </span>
      </td>
      <td data-label="Opened" className="number">
        <Ago at={created_at} />
      </td>
      <td className="max-md:col-span-2 md:text-right">
        <span className="inline-flex flex-wrap gap-2 md:-my-1.5 md:flex-nowrap">
          <a href={url} target="_blank" rel="noreferrer" className={buttonClass('plain')}>
            <ExternalLink size={15} aria-hidden />
            Open<span className="sr-only"> port {port} in a new tab</span>
          </a>
          <Button
            aria-pressed={isFramed}
            onClick={onFrame}
            icon={<PanelBottom size={15} aria-hidden />}
            className={isFramed ? '!border-accent !text-accent' : ''}
          >
            Show here<span className="sr-only"> what is on port {port}</span>
          </Button>
          <Button aria-label={`QR code of port ${port}`} title="QR code" className="!px-2.5" onClick={onCode}>
            <QrIcon size={16} aria-hidden />
          </Button>
        </span>
      </td>
      <td className="corner end">
        <Button look="quiet" className="-my-1.5 -mr-3 hover:!text-red" onClick={onClose}>
          Close<span className="sr-only"> port {port}</span>
        </Button>
      </td>
    </tr>
  );
}

function NoPorts() {
  return (
    <div className="animate-appear rounded-xl border border-line border-dashed px-6 py-12 text-center">
      <Globe size={28} aria-hidden className="mx-auto mb-3 text-accent" />
      <p className="text-base font-medium">No open port</p>
      <p className="mx-auto mt-1 max-w-md text-soft">
        An open port has a public https URL, for as long as the sandbox runs. Start a server in the sandbox, then open
        its port here.
      </p>
    </div>
  );
}
