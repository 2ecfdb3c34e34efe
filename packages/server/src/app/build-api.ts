import { defineOperations } from '@mayfly/contract';
import type { FastifyBaseLogger } from 'fastify';
import type { Budgets } from '../core/budgets/budgets.ts';
import type { Launcher } from '../core/machines/launcher.ts';
import type { Teardowns } from '../core/machines/teardowns.ts';
import type { Pool } from '../core/pool/pool.ts';
import type { Readings } from '../core/ports/metrics.ts';
import type { SandboxStore } from '../core/ports/store/sandbox-store.ts';
import type { SnapshotStore } from '../core/ports/store/snapshot-store.ts';
import type { PreviewTraffic } from '../core/previews/preview-traffic.ts';
import { type ApiNeeds, buildHttp } from '../http/app.ts';
import type { ApiTls, HttpApp, HttpDeps, Readiness } from '../http/http-app.ts';
import type { ReadingLimits } from '../http/slow-readers.ts';
import type { PrometheusMetrics } from '../metrics/prometheus.ts';
import type { Config } from './config.ts';
import { apiUrl } from './listen.ts';
import { type Previews, previewUrl } from './previews.ts';

/** What the gauges are read from. */
export interface GaugeNeeds {
  readonly store: { readonly sandboxes: SandboxStore; readonly snapshots: SnapshotStore };
  readonly pool: Pool;
  readonly launcher: Launcher;
  readonly teardowns: Teardowns;
  readonly previewTraffic: PreviewTraffic;
  readonly budgets: Budgets;
}

export interface ApiParts {
  readonly config: Pick<
    Config,
    'host' | 'port' | 'apiTls' | 'publicUrl' | 'previewDomain' | 'trustProxy' | 'metricsPublic' | 'metricsToken'
  >;
  readonly core: ApiNeeds & GaugeNeeds;
  readonly metrics: PrometheusMetrics;
  readonly previews: Pick<Previews, 'publicPort' | 'root'>;
  readonly tls?: ApiTls | undefined;
  readonly pages?: HttpDeps['pages'];
  readonly log: FastifyBaseLogger;
  readonly readiness: () => Readiness;
  readonly bodyPace?: HttpDeps['bodyPace'];
  readonly readingLimits?: Partial<ReadingLimits> | undefined;
  readonly connectionLimits?: HttpDeps['connectionLimits'];
}

/** Builds the HTTP API over the core and the running previews. Does not listen yet. */
export function buildApi(parts: ApiParts): HttpApp {
  const { config, core, metrics, previews, tls, pages, log, readiness, bodyPace, readingLimits, connectionLimits } =
    parts;
  const { previewDomain, trustProxy, metricsPublic, metricsToken } = config;
  metrics.watch(readingsOf(core));
  const app: HttpApp = buildHttp({
    core,
    log,
    operations: defineOperations(core.limits),
    trustProxy,
    tls,
    metricsPage: metrics,
    metricsPublic,
    metricsToken,
    previewUrl: (token) => previewUrl(previewDomain, previews.publicPort, token),
    previewRoot: () => previews.root,
    publicUrl: () => apiUrl(app, config),
    pages,
    readiness: () => (readiness() === 'ready' && !core.capacity.isHostAvailable() ? 'host_unavailable' : readiness()),
    bodyPace,
    readingLimits,
    connectionLimits,
  });
  return app;
}

/** The gauges: values that are read when the metrics are requested. */
function readingsOf({ store, pool, launcher, teardowns, previewTraffic, budgets }: GaugeNeeds): Readings {
  return {
    sandboxes: () => store.sandboxes.countByStatus(),
    snapshots: () => store.snapshots.countByStatus(),
    poolReady: (size) => pool.readyCount(size),
    poolTarget: (size) => pool.target(size),
    restoresInFlight: () => launcher.inFlight,
    restoresWaiting: () => launcher.waiting,
    teardownsWaiting: () => teardowns.waiting,
    previewsOpen: () => previewTraffic.count,
    resultBytesHeld: () => budgets.resultBytes.held,
    resultsWaiting: () => budgets.resultBytes.waiting,
    bodyBytesHeld: () => budgets.bodyBytes.held,
    uploadsOpen: () => budgets.uploads.held,
    commandsWaiting: () => budgets.commands.waiting,
  };
}
