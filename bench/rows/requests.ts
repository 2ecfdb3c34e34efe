import { fastify } from 'fastify';
import type { BenchHost } from '../support/bench-host.ts';
import { msPerRequest } from '../support/load.ts';
import { alternate } from '../support/measure.ts';
import type { Row } from '../support/table.ts';

const rounds = 7;
const load = { connections: 16, durationMs: 1_500 };

/** GET /v1/sandboxes/{id} under load, with key check, rate windows and database, compared with a bare route that returns the same body. */
export async function requestRow(bench: BenchHost): Promise<Row> {
  const { id } = (await bench.call('POST', '/sandboxes', 201)) as { id: string };
  const body = await bench.call('GET', `/sandboxes/${id}`, 200);
  const bare = fastify();
  bare.get('/v1/sandboxes/:id', async () => body);
  await bare.listen({ host: '127.0.0.1', port: 0 });
  const head = `GET /v1/sandboxes/${id} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${bench.key}\r\n\r\n`;
  const asked = (port: number) => () => msPerRequest({ ...load, port, request: head });
  const address = bare.server.address();
  const barePort = typeof address === 'object' ? (address?.port ?? 0) : 0;
  try {
    const measured = asked(Number(new URL(bench.url).port));
    await alternate(1, measured, asked(barePort));
    const medians = await alternate(rounds, measured, asked(barePort));
    return { name: 'get a sandbox', baseline: 'bare route, same body', target: 2, ...medians };
  } finally {
    await bare.close();
    await bench.call('DELETE', `/sandboxes/${id}`, 200);
  }
}
