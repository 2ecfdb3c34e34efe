/** What visitors of previews may take, so that one preview cannot starve the rest. */
export const defaultGatewayLimits = Object.freeze({
  /** Of a request, and of an answer from a sandbox. */
  headerBytes: 65_536,
  headerPairs: 256,
  /** Of all visitors. */
  connections: 8_192,
  /** Of the visitors of one preview. */
  connectionsPerName: 512,
  /** Requests at once over one HTTP/2 connection. */
  streamsPerConnection: 128,
  /** What one HTTP/2 stream, and one such connection, may send ahead of the sandbox's reading. */
  streamWindowBytes: 262_144,
  connectionWindowBytes: 4_194_304,
  handshakeMs: 10_000,
  headersMs: 30_000,
  /** An open connection over which nothing is asked. */
  keepAliveMs: 60_000,
  /** A request or socket over which no byte goes either way. */
  idleMs: 900_000,
  /** Connections into one sandbox's port that wait for the next request, and how long: shorter than servers keep theirs. */
  idleTunnels: 8,
  idleTunnelMs: 4_000,
  /** How long visitors may finish when the service stops. */
  drainMs: 2_000,
});

export type GatewayLimits = { readonly [Name in keyof typeof defaultGatewayLimits]: number };
