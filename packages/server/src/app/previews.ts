import type { Core } from '../core/context.ts';
import type { Log } from '../core/ports/log.ts';
import { startGateway } from '../gateway/start-gateway.ts';
import { CertificateError } from '../gateway/tls/certificate-error.ts';
import { type Certificates, openCertificates } from '../gateway/tls/certificates.ts';
import type { Config } from './config.ts';
import { explainListen } from './listen.ts';
import { StartError } from './start-error.ts';

/** Previews that are being served. */
export interface Previews extends AsyncDisposable {
  /** The port in their URLs. */
  readonly publicPort: number;
  /** The PEM file of the local authority's root; undefined with the operator's own certificate. */
  readonly rootFile: string | undefined;
}

interface Settings extends Pick<Config, 'dataDir' | 'host' | 'previewDomain' | 'previewPort' | 'trustProxy'> {
  readonly previewPublicPort?: number | undefined;
  readonly tlsFiles?: { readonly certFile: string; readonly keyFile: string } | undefined;
}

/** Starts to serve previews. Fails with a StartError that says what to do. */
export async function startPreviews(core: Core, config: Settings, log: Log): Promise<Previews> {
  const { host, previewDomain: domain, previewPort: port, trustProxy } = config;
  await using acquired = new AsyncDisposableStack();
  const certificates = acquired.use(await openConfigured(config, log));
  const gateway = acquired.use(
    await startGateway({ core, domain, host, port, trustProxy, certificates }).catch((cause: unknown) => {
      throw new StartError(explainListen(cause, host, port, 'MAYFLY_PREVIEW_PORT'), { cause });
    }),
  );
  const held = acquired.move();
  return {
    publicPort: config.previewPublicPort ?? gateway.port,
    rootFile: certificates.rootFile,
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
