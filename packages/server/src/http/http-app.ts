import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { SecureContext } from 'node:tls';
import type { Operations } from '@mayfly/contract';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { AccountRecord } from '../core/ports/store/account-store.ts';
import type { CountedRequest } from '../core/windows/rate-windows.ts';
import type { ConnectionLimits } from '../listening/source-limits.ts';
import type { BodyPace, WatchedBody } from './bodies/slow-body.ts';
import type { PageFiles } from './dashboard/page-files.ts';
import type { ReadingLimits } from './slow-readers.ts';

/** The HTTP server, with routes typed by their zod schemas. */
export type HttpApp = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>;

/** Whether the service accepts work. */
export type Readiness = 'starting' | 'ready' | 'host_unavailable' | 'stopping';

/** The metrics in the Prometheus text format. */
interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/** The certificate of the API. */
export interface ApiTls {
  /** PEM, with its chain; for clients that send no server name. */
  readonly cert: string;
  /** PEM. Secret. */
  readonly key: string;
  /** The current certificate for a server name. */
  contextFor(servername: string | undefined): Promise<SecureContext>;
}

/** What the HTTP layer needs from the rest of the service. `Needs` is the part of the core that is used: each file of routes names its own. */
export interface HttpDeps<Needs = unknown> {
  readonly core: Needs;
  readonly log: FastifyBaseLogger;
  /** The API operations, with the configured limits in their schemas. */
  readonly operations: Operations;
  /** Whose X-Forwarded-For is trusted, see `trustedProxies`. */
  readonly trustProxy: boolean | string;
  /** Plain HTTP when absent. */
  readonly tls?: ApiTls | undefined;
  readonly metricsPage: MetricsPage;
  /** Whether clients on other hosts may read the metrics. */
  readonly metricsPublic: boolean;
  /** Clients that send it as a bearer token may read the metrics too. */
  readonly metricsToken: string | undefined;
  /** The public URL of the preview with this token. */
  readonly previewUrl: (token: string) => string;
  /** The root certificate (PEM) that preview visitors must trust; undefined when the operator brings a certificate. */
  readonly previewRoot: () => string | undefined;
  /** The public URL of the API, without a trailing slash. */
  readonly publicUrl: () => string;
  readonly readiness: () => Readiness;
  /** The built dashboard; undefined if it is not built. */
  readonly pages?: PageFiles | undefined;
  /** How slowly a caller may send a body. */
  readonly bodyPace?: BodyPace | undefined;
  /** What one source address may open; the defaults apply to what is absent. */
  readonly connectionLimits?: Partial<ConnectionLimits> | undefined;
  /** How slowly clients may read; the defaults apply to what is absent. */
  readonly readingLimits?: Partial<ReadingLimits> | undefined;
}

declare module 'fastify' {
  interface FastifyContextConfig {
    /** The id of the operation in the contract; undefined for routes outside of it. */
    operation?: string;
    /** Whether a ticket in the query can take the place of the key. */
    acceptsTicket?: boolean;
    /** Whether a route of the dashboard is for people who are not signed in. */
    signedOut?: boolean;
  }

  interface FastifyRequest {
    /** Set by authentication; read it with `accountOf`. */
    account: AccountRecord | undefined;
    /** Fields added to the request's log line. */
    logged: {
      account_id?: string;
      key_id?: string;
      session_id?: string;
      /** The API key or session that a request creates or ends. */
      subject_id?: string;
      sandbox_id?: string;
      snapshot_id?: string;
      execution_id?: string;
      error_type?: string;
    };
    /** How the request was counted; the RateLimit headers of the response describe this window as it is when they are sent. */
    counted: CountedRequest | undefined;
    /** For what lasts until the response is sent: a body is read before there is a reply. */
    response: ServerResponse;
    /** Undefined if there is no body to wait for. */
    watchedBody: WatchedBody | undefined;
    /** The source of the request; behind trusted proxies, not their address. Always a valid address. */
    source: string;
  }
}
