import { constants } from 'node:crypto';
import { once } from 'node:events';
import type { IncomingMessage } from 'node:http';
import { createSecureServer, type Http2SecureServer } from 'node:http2';
import type { Duplex } from 'node:stream';
import { callbackify } from 'node:util';
import type { PreviewTraffic } from '../../core/previews/preview-traffic.ts';
import { connectPreview } from '../../core/previews/visits.ts';
import { repeat } from '../../core/scheduling/repeat.ts';
import { trustedProxies } from '../../core/windows/source-address.ts';
import { refuseFloods } from '../../listening/refuse-floods.ts';
import { strangerLog } from '../../listening/stranger-log.ts';
import { isHttp2 } from '../forward/http-versions.ts';
import { RefusedRequests } from '../forward/refused-requests.ts';
import { forwardRequest, type OnVisit } from '../forward/request.ts';
import { TunnelAgent } from '../forward/tunnel-agent.ts';
import { forwardUpgrade } from '../forward/upgrade.ts';
import {
  type Connect,
  defaultGatewayLimits,
  type GatewayContext,
  type GatewayLimits,
  type GatewayNeeds,
} from '../gateway-context.ts';
import type { Certificates } from '../tls/certificates.ts';
import { answerClientErrors } from './client-errors.ts';
import { Connections } from './connections.ts';

/** How often the certificate for visitors without a server name is refreshed. */
const refreshMs = 60_000;

export interface GatewayOptions {
  readonly core: GatewayNeeds;
  /** The parent domain: a preview's host name is one label below it. */
  readonly domain: string;
  readonly host: string;
  /** 0 for any free port. */
  readonly port: number;
  /** A listening socket to use instead of opening one. */
  readonly inheritedFd?: number | undefined;
  /** Whose X-Forwarded-For is trusted, see `trustedProxies`. */
  readonly trustProxy: boolean | string;
  readonly limits?: Partial<GatewayLimits> | undefined;
  readonly certificates: Pick<Certificates, 'contextFor' | 'defaultPair'>;
}

/** The public HTTPS server for previews. */
export interface Gateway extends AsyncDisposable {
  readonly port: number;
}

/** Starts to serve previews. Rejects with the error of `listen`. */
export async function startGateway(options: GatewayOptions): Promise<Gateway> {
  const { core, domain, host, port, certificates } = options;
  const connect: Connect = (target, signal) => connectPreview(core, target, signal);
  const limits = { ...defaultGatewayLimits, ...options.limits };
  const agent = new TunnelAgent(connect, limits);
  const trustsProxy = trustedProxies(options.trustProxy);
  const { clock, metrics } = core;
  const log = strangerLog(core.log);
  const refused = new RefusedRequests({ clock, metrics, log, perMinute: limits.refusedRequestsPerMinute });
  const gateway: GatewayContext = { core, domain, trustsProxy, limits, connect, agent, refused };
  const server = await createServer(certificates, limits);
  const handshakes = { perTurn: limits.handshakesPerTurn, clientHelloMs: limits.handshakeMs };
  refuseFloods(server, { port: 'previews', limits, handshakes, trustProxy: options.trustProxy, metrics, log });
  const connections = new Connections(domain, limits);
  connections.watch(server);
  answerClientErrors(server, refused);
  const onVisit = trackConnections(core.previewTraffic);
  const onUnexpected = (err: unknown) => log.error({ err }, 'preview_request_failed');
  server.on('request', (request, response) => {
    forwardRequest(gateway, request, response, onVisit).catch(onUnexpected);
  });
  server.on('upgrade', (request: IncomingMessage, socket: Duplex, head: Buffer) => {
    forwardUpgrade(gateway, request, socket, head, onVisit).catch(onUnexpected);
  });
  const { inheritedFd: fd } = options;
  server.listen(fd === undefined ? { port, host } : { fd });
  await once(server, 'listening');
  // Failing to accept a connection, for example for lack of file descriptors, must not stop the gateway.
  server.on('error', (err) => log.error({ err }, 'preview_connection_failed'));
  const refreshing = repeat(
    'preview_certificate_refresh',
    refreshMs,
    async () => server.setSecureContext(await defaultContext(certificates)),
    core.log,
  );
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    [Symbol.asyncDispose]: async () => {
      await refreshing[Symbol.asyncDispose]();
      server.close();
      await connections.drain();
      agent.destroy();
    },
  };
}

async function createServer(
  certificates: GatewayOptions['certificates'],
  limits: GatewayLimits,
): Promise<Http2SecureServer> {
  const server = createSecureServer({
    allowHTTP1: true,
    ...(await defaultContext(certificates)),
    handshakeTimeout: limits.handshakeMs,
    SNICallback: callbackify((name: string) => certificates.contextFor(name)),
    maxHeaderListPairs: limits.headerPairs,
    settings: {
      maxConcurrentStreams: limits.streamsPerConnection,
      maxHeaderListSize: limits.headerBytes,
      initialWindowSize: limits.streamWindowBytes,
    },
  });
  // Node applies these options of HTTP/1.1 servers here as well, though its types do not say so.
  return Object.assign(server, {
    maxConnections: limits.connections,
    maxHeaderSize: limits.headerBytes,
    headersTimeout: limits.headersMs,
    // An upload may take any time as long as it makes progress.
    requestTimeout: 0,
    timeout: limits.idleMs,
    keepAliveTimeout: limits.keepAliveMs,
    // An offer of any other protocol is ignored and the request answered over HTTP/1.1.
    shouldUpgradeCallback: ({ method, headers }: IncomingMessage) =>
      method === 'GET' && headers.upgrade?.toLowerCase() === 'websocket',
  });
}

/** The TLS options for visitors that send no server name, such as some proxies. */
async function defaultContext(certificates: GatewayOptions['certificates']) {
  return {
    ...(await certificates.defaultPair()),
    minVersion: 'TLSv1.2',
    // A resumed session would not carry the server name.
    secureOptions: constants.SSL_OP_NO_TICKET,
  } as const;
}

/** Closes a connection that serves one preview together with that preview, even while it is idle. */
function trackConnections(previewTraffic: PreviewTraffic): OnVisit {
  const tracked = new WeakSet<object>();
  return (request, { target, ownConnection }) => {
    const connection = isHttp2(request) ? request.stream.session : request.socket;
    if (!ownConnection || connection === undefined || tracked.has(connection)) return;
    tracked.add(connection);
    const untrack = previewTraffic.trackConnection(target, () => connection.destroy());
    connection.once('close', untrack);
  };
}
