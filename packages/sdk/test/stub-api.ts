import type { AddressInfo } from 'node:net';
import { expireSandboxes } from '../../server/src/core/sandboxes/end.ts';
import { stubService } from '../../server/test/app/stub-service.ts';
import { Mayfly, type MayflyOptions } from '../src/index.ts';

type StubDeadlines = NonNullable<Parameters<typeof stubService>[0]>;

/** The whole API over stub machines, on a loopback port. */
export async function stubApi(settings: NodeJS.ProcessEnv = {}, deadlines: StubDeadlines = {}) {
  const service = await stubService(deadlines, {
    MAYFLY_LIMIT_REQUESTS_PER_MINUTE: '100000',
    MAYFLY_LIMIT_SOURCE_REQUESTS_PER_MINUTE: '100000',
    MAYFLY_LIMIT_CREATIONS_PER_MINUTE: '10000',
    ...settings,
  });
  await service.app.listen({ port: 0, host: '127.0.0.1' });
  const { port } = service.app.server.address() as AddressInfo;
  const url = `http://127.0.0.1:${port}`;
  return {
    service,
    url,
    live: service.connector.live,
    /** Ends sandboxes that have expired. */
    sweep: () => expireSandboxes(service.core),
    /** A client of it, or of a proxy in front of it, that retries quickly. */
    client: (options: MayflyOptions = {}) =>
      new Mayfly({ apiKey: service.key, baseUrl: url, retryDelayMs: 10, ...options }),
    [Symbol.asyncDispose]: () => service[Symbol.asyncDispose](),
  };
}

export type StubApi = Awaited<ReturnType<typeof stubApi>>;

export { resultOf } from '../../server/test/core/stub-guest.ts';
