import type { Agent } from 'node:http';
import type { Duplex } from 'node:stream';
import type { FindKeyNeeds } from '../core/accounts/authenticate.ts';
import type { Metrics } from '../core/ports/metrics.ts';
import type { Clock, Log } from '../core/ports/runtime.ts';
import type { PreviewTarget } from '../core/previews/preview-traffic.ts';
import type { ConnectPreviewNeeds, VisitNeeds } from '../core/previews/visits.ts';
import type { TrustsProxy } from '../core/windows/source-address.ts';
import type { RefusedRequests } from './forward/refused-requests.ts';

/** What serving previews needs of the core. API keys are removed from requests, so keys are looked up too. */
export type GatewayNeeds = VisitNeeds &
  ConnectPreviewNeeds &
  FindKeyNeeds & {
    readonly clock: Clock;
    readonly metrics: Metrics;
    readonly log: Log;
  };

/** Opens a connection to a server in a sandbox. */
export type Connect = (target: PreviewTarget, signal: AbortSignal) => Promise<Duplex>;

/** Everything that forwarding a request needs. */
export interface GatewayContext {
  readonly core: GatewayNeeds;
  /** The parent domain: a preview's host name is one label below it. */
  readonly domain: string;
  /** Whose X-Forwarded-For is trusted. */
  readonly trustsProxy: TrustsProxy;
  readonly limits: GatewayLimits;
  readonly connect: Connect;
  /** Reuses connections into sandboxes. */
  readonly agent: Agent;
  readonly refused: RefusedRequests;
}

/** Limits per visitor, preview and connection, so that one preview cannot starve the others. */
export const defaultGatewayLimits = Object.freeze({
  /** Size of the headers of a request, and of a response from a sandbox. */
  headerBytes: 65_536,
  headerPairs: 256,
  /** Connections of all visitors. */
  connections: 8_192,
  /** Connections of the visitors of one preview. */
  connectionsPerName: 512,
  /** Connections of one source address. */
  connectionsPerSource: 1_024,
  /** New connections of one source address: at once, and per second after that. */
  newConnectionsBurst: 512,
  newConnectionsPerSecond: 64,
  /** Requests of one source address that are refused in a minute, for example because there is no such preview; then all of its requests are. */
  refusedRequestsPerMinute: 300,
  /** TLS handshakes that begin in one turn of the event loop. */
  handshakesPerTurn: 4,
  /** Concurrent requests on one HTTP/2 connection. */
  streamsPerConnection: 128,
  /** Receive window of an HTTP/2 stream: bytes that a visitor can send before the sandbox reads them. */
  streamWindowBytes: 262_144,
  /** Receive window of an HTTP/2 connection. */
  connectionWindowBytes: 4_194_304,
  /** How long a client may take for the first message of a handshake, and how long the rest may take after it. */
  handshakeMs: 10_000,
  headersMs: 30_000,
  /** Lifetime of a connection without a request. */
  keepAliveMs: 60_000,
  /** Lifetime of a request or WebSocket without traffic in either direction. */
  idleMs: 900_000,
  /** Idle connections kept per port of a sandbox. */
  idleTunnels: 8,
  /** How long they are kept: shorter than the keep-alive timeout of common servers. */
  idleTunnelMs: 4_000,
  /** How long requests in flight may take when the service stops. */
  drainMs: 2_000,
});

export type GatewayLimits = { readonly [Name in keyof typeof defaultGatewayLimits]: number };
