import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Operations } from '@mayfly/contract';
import type { FastifyBaseLogger, FastifyInstance } from 'fastify';
import type { ZodTypeProvider } from 'fastify-type-provider-zod';
import type { Core } from '../core/context.ts';
import type { AccountRecord } from '../core/ports/store/account-store.ts';
import type { WindowUse } from '../core/windows/fixed-window.ts';

/** The HTTP server with routes typed by their schemas. */
export type HttpApp = FastifyInstance<Server, IncomingMessage, ServerResponse, FastifyBaseLogger, ZodTypeProvider>;

/** Whether the service takes work. */
export type Readiness = 'starting' | 'ready' | 'stopping';

/** What has been counted, as text for a monitoring system. */
export interface MetricsPage {
  readonly contentType: string;
  text(): Promise<string>;
}

/** What the HTTP side needs from the rest of the service. */
export interface HttpDeps {
  readonly core: Core;
  readonly log: FastifyBaseLogger;
  /** The calls of the interface under the service's limits. */
  readonly operations: Operations;
  /** Whose X-Forwarded-For is believed: nobody's, everybody's, or that of these addresses. */
  readonly trustProxy: boolean | string;
  readonly metricsPage: MetricsPage;
  /** Whether the metrics are shown to others than this host. */
  readonly metricsPublic: boolean;
  /** The public URL of a preview, by its token. */
  readonly previewUrl: (token: string) => string;
  /** The root (PEM) that a client must trust to reach previews; undefined with a certificate of the operator's own. */
  readonly previewRoot: () => string | undefined;
  /** Where callers reach the service, without a slash at the end. */
  readonly publicUrl: () => string;
  readonly readiness: () => Readiness;
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Set by authentication; read it with `accountOf`. */
    account: AccountRecord | undefined;
    /** Ids that go on the request's log line. */
    logged: { sandbox_id?: string; execution_id?: string; error_type?: string };
    /** Where the caller stands, as the response tells. */
    window: WindowUse | undefined;
  }
}
