import { defineOperations } from '@mayfly/contract';
import type { Core } from '../core/context.ts';
import { buildHttp } from '../http/build-http.ts';
import type { HttpApp, Readiness } from '../http/http-app.ts';
import { createPrometheusMetrics } from '../metrics/prometheus.ts';
import { assembleCore, type CoreParts } from './assemble-core.ts';
import type { Config } from './config.ts';
import { previewUrl } from './preview-url.ts';
import { readingsOf } from './readings.ts';

export interface Parts extends CoreParts {
  readonly config: CoreParts['config'] & Pick<Config, 'previewDomain' | 'previewPort' | 'trustProxy' | 'metricsPublic'>;
}

/** The service put together, before it does anything. */
export interface Wired {
  readonly core: Core;
  readonly app: HttpApp;
  /** Where callers reach it; set it once that is known. */
  publicUrl: string;
  /** The port in the URLs of previews, and the root (PEM) to trust for them; set both once they are known. */
  previewPort: number;
  previewRoot: string | undefined;
  readiness: Readiness;
}

/** Puts the parts together. Opens, starts and listens to nothing. */
export function wire(parts: Parts): Wired {
  const { limits, previewDomain, previewPort, trustProxy, metricsPublic } = parts.config;
  const metrics = createPrometheusMetrics();
  const core = assembleCore({ ...parts, metrics }, () => wired.readiness === 'ready');
  metrics.watch(readingsOf(core));
  const app = buildHttp({
    core,
    log: parts.log,
    operations: defineOperations(limits),
    trustProxy,
    metricsPage: metrics,
    metricsPublic,
    previewUrl: (token) => previewUrl(previewDomain, wired.previewPort, token),
    previewRoot: () => wired.previewRoot,
    publicUrl: () => wired.publicUrl,
    readiness: () => wired.readiness,
  });
  const wired: Wired = {
    core,
    app,
    publicUrl: 'http://localhost',
    previewPort,
    previewRoot: undefined,
    readiness: 'starting',
  };
  return wired;
}
