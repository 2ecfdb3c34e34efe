import { constants } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { Duplex } from 'node:stream';
import { callbackify } from 'node:util';
import type { Core } from '../core/context.ts';
import { connectPreview } from '../core/previews/connect.ts';
import { repeat } from '../core/scheduling/repeat.ts';
import { Connections } from './connections.ts';
import type { GatewayContext } from './context.ts';
import type { Visit } from './forward/let-in.ts';
import { forwardRequest } from './forward/request.ts';
import { TunnelAgent } from './forward/tunnel-agent.ts';
import { forwardUpgrade } from './forward/upgrade.ts';
import { defaultGatewayLimits, type GatewayLimits } from './limits.ts';
import { isHttp2, type VisitorRequest } from './messages.ts';
import type { Certificates } from './tls/certificates.ts';
import { trustedProxies } from './trusted-proxies.ts';
import { answerUnreadable } from './unreadable.ts';

/** How often the certificate for visitors that name nothing is looked at. */
const renewMs = 60_000;

export interface GatewayOptions {
  readonly core: Core;
  /** Previews are at hosts one label below it. */
  readonly domain: string;
  readonly host: string;
  /** 0 takes any free one. */
  readonly port: number;
  /** Whose X-Forwarded-For is believed. */
  readonly trustProxy: boolean | string;
  readonly limits?: Partial<GatewayLimits> | undefined;
  readonly certificates: Pick<Certificates, 'contextFor' | 'pairForNoName'>;
}

/** The public side of previews. */
export interface Gateway extends AsyncDisposable {
  /** That it listens on. */
  readonly port: number;
}

/** Starts to serve previews over TLS. Fails as listening fails. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { core, domain, host, port } = options;
  const connect: GatewayContext['connect'] = (target, signal) => connectPreview(core, target, signal);
  const limits = { ...defaultGatewayLimits, ...options.limits };
  const agent = new TunnelAgent(connect, limits);
  const gateway: GatewayContext = {
    core,
    domain,
    isTrustedProxy: trustedProxies(options.trustProxy),
    limits,
    connect,
    agent,
  };
  const server = await openServer(options.certificates, limits);
  const connections = new Connections(domain, limits);
  connections.watch(server);
  answerUnreadable(server);
  const onVisit = holdConnections(core);
  const unforeseen = (err: unknown) => core.log.error({ err }, 'preview_failed');
  server.on('request', (request, response) => {
    forwardRequest(gateway, request, response, onVisit).catch(unforeseen);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    forwardUpgrade(gateway, request, socket, head, onVisit).catch(unforeseen);
  });
  server.listen(port, host);
  await once(server, 'listening');
  // A connection that cannot be taken, for lack of descriptors say, is its visitor's loss alone.
  server.on('error', (err) => core.log.error({ err }, 'preview_connection_failed'));
  const renewing = repeat('preview_certificate', renewMs, () => renewNameless(server, options.certificates), core.log);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    [Symbol.asyncDispose]: async () => {
      await renewing[Symbol.asyncDispose]();
      server.close();
      await connections.drain();
      agent.destroy();
    },
  };
}

async function openServer(
  certificates: GatewayOptions['certificates'],
  limits: GatewayLimits,
): Promise<Http2SecureServer> {
  const server = createSecureServer({
    allowHTTP1: true,
    ...(await certificates.pairForNoName()),
    minVersion: 'TLSv1.2',
    // A resumed session would not tell the name it is for.
    secureOptions: constants.SSL_OP_NO_TICKET,
    handshakeTimeout: limits.handshakeMs,
    SNICallback: callbackify(certificates.contextFor.bind(certificates)),
    maxHeaderListPairs: limits.headerPairs,
    settings: {
      maxConcurrentStreams: limits.streamsPerConnection,
      maxHeaderListSize: limits.headerBytes,
      initialWindowSize: limits.streamWindowBytes,
    },
  });
  // What Node knows of HTTP/1.1 servers holds for this one, too, though its types do not say so.
  return Object.assign(server, {
    maxConnections: limits.connections,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    // An upload may take as long as it moves.
    requestTimeout: 0,
    timeout: limits.idleMs,
    keepAliveTimeout: limits.keepAliveMs,
    // Whoever offers another protocol is answered in this one.
    shouldUpgradeCallback: ({ method, headers }: IncomingMessage) =>
      method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket',
  });
}

/** Gives visitors that name nothing, such as some proxies, the certificate that holds now. */
async function renewNameless(server: Http2SecureServer, certificates: GatewayOptions['certificates']): Promise<void> {
  server.setSecureContext({
    ...(await certificates.pairForNoName()),
    minVersion: 'TLSv1.2',
    secureOptions: constants.SSL_OP_NO_TICKET,
  });
}

/** Has a connection that is for one preview alone cut with it, also while nothing is asked over it. */
function holdConnections({ previewTraffic }: Core): (request: VisitorRequest, visit: Visit) => void {
  const held = new WeakSet<object>();
  return (request, { target, ownConnection }) => {
    const connection = isHttp2(request) ? request.stream.session : request.socket;
    if (!ownConnection || connection === undefined || held.has(connection)) return;
    held.add(connection);
    const release = previewTraffic.holdConnection(target, () => connection.destroy());
    connection.once('close', release);
  };
}
