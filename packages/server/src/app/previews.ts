import { readFile } from 'node:fs/promises';
import type { Core } from '../core/context.ts';
import type { Log } from '../core/ports/log.ts';
import type { GatewayLimits } from '../gateway/limits.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { CertificateError } from '../gateway/tls/certificate-error.ts';
import { type Certificates, openCertificates } from '../gateway/tls/certificates.ts';
import type { Config } from './config.ts';
import { explainListen } from './listen.ts';
import { previewUrl } from './preview-url.ts';
import { StartError } from './start-error.ts';

/** Previews that are being served. */
export interface Previews extends AsyncDisposable {
  /** The port in their URLs. */
  readonly publicPort: number;
  /** With `*` for the token. */
  readonly url: string;
  /** The PEM file of the local authority's root, and what is in it; undefined with the operator's own certificate. */
  readonly rootFile: string | undefined;
  readonly root: string | undefined;
}

type Settings = Pick<
  Config,
  'dataDir' | 'host' | 'previewDomain' | 'previewPort' | 'previewPublicPort' | 'tlsFiles' | 'trustProxy'
>;

/** Starts to serve previews. Fails with a StartError that says what to do. */
export async function startPreviews(
  core: Core,
  config: Settings,
  log: Log,
  limits?: Partial<GatewayLimits>,
): Promise<Previews> {
  const { host, previewDomain: domain, previewPort: port, trustProxy } = config;
  await using acquired = new AsyncDisposableStack();
  const certificates = acquired.use(await openConfigured(config, log));
  const gateway = acquired.use(
    await startGateway({ core, domain, host, port, trustProxy, certificates, limits }).catch((cause: unknown) => {
      throw new StartError(explainListen(cause, host, port, 'MAYFLY_PREVIEW_PORT'), { cause });
    }),
  );
  const { rootFile } = certificates;
  const root = rootFile === undefined ? undefined : await readFile(rootFile, 'utf8');
  const publicPort = config.previewPublicPort ?? gateway.port;
  const held = acquired.move();
  return {
    publicPort,
    url: previewUrl(domain, publicPort, '*'),
    rootFile,
    root,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

async function openConfigured({ dataDir, previewDomain, tlsFiles }: Settings, log: Log): Promise<Certificates> {
  try {
    return await openCertificates({ domain: previewDomain, dataDir, files: tlsFiles, log });
  } catch (cause) {
    if (cause instanceof CertificateError) throw new StartError(cause.message, { cause });
    throw cause;
  }
}
