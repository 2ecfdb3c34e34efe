import { readFile } from 'node:fs/promises';
import type { Log } from '../core/ports/runtime.ts';
import type { GatewayLimits, GatewayNeeds } from '../gateway/gateway-context.ts';
import { startGateway } from '../gateway/server/start-gateway.ts';
import { CertificateError, type Certificates } from '../gateway/tls/certificates.ts';
import { openCertificates } from '../gateway/tls/open-certificates.ts';
import { StartFailure } from '../process/start-failure.ts';
import type { Config } from './config.ts';
import { explainListen, refuseOtherPort } from './listen.ts';

/** The running preview gateway. */
export interface Previews extends AsyncDisposable {
  /** The port in preview URLs. */
  readonly publicPort: number;
  /** A preview URL with `*` for the token. */
  readonly url: string;
  /** The local authority's root certificate (PEM): its file and content; undefined with the operator's certificate. */
  readonly rootFile: string | undefined;
  readonly root: string | undefined;
  /** The certificates that previews are served with; with the operator's certificate the API can use them too. */
  readonly certificates: Certificates;
}

type Settings = Pick<
  Config,
  | 'dataDir'
  | 'inheritedSockets'
  | 'previewHost'
  | 'previewDomain'
  | 'previewPort'
  | 'previewPublicPort'
  | 'tlsFiles'
  | 'trustProxy'
>;

/** Starts the preview gateway. Throws a StartFailure that says what to do. */
export async function startPreviews(
  core: GatewayNeeds,
  config: Settings,
  log: Log,
  limits?: Partial<GatewayLimits>,
): Promise<Previews> {
  const { previewHost: host, previewDomain: domain, previewPort: port, trustProxy } = config;
  await using acquired = new AsyncDisposableStack();
  const certificates = acquired.use(await openConfigured(config, log));
  const gateway = acquired.use(
    await startGateway({
      ...{ core, domain, host, port, trustProxy, certificates, limits },
      inheritedFd: config.inheritedSockets.previews?.[0],
    }).catch((cause: unknown) => {
      throw new StartFailure(explainListen(cause, host, port, 'MAYFLY_PREVIEW'), { cause });
    }),
  );
  if (config.inheritedSockets.previews !== undefined) refuseOtherPort(gateway.port, port, 'MAYFLY_PREVIEW');
  const { rootFile } = certificates;
  const root = rootFile === undefined ? undefined : await readFile(rootFile, 'utf8');
  const publicPort = config.previewPublicPort ?? gateway.port;
  const held = acquired.move();
  return {
    publicPort,
    url: previewUrl(domain, publicPort, '*'),
    rootFile,
    root,
    certificates,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function openConfigured({ dataDir, previewDomain, tlsFiles }: Settings, log: Log): Promise<Certificates> {
  try {
    return await openCertificates({ domain: previewDomain, dataDir, files: tlsFiles, log });
  } catch (cause) {
    if (!(cause instanceof CertificateError)) throw cause;
    throw new StartFailure(cause.message, { cause, mayPass: cause.isTemporary });
  }
}

/** The public URL of a preview. */
export function previewUrl(domain: string, port: number, token: string): string {
  const shownPort = port === 443 ? '' : `:${port}`;
  return `https://${token}.${domain}${shownPort}/`;
}
