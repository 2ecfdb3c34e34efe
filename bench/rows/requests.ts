import { fastify } from 'fastify';
import { msPerRequest } from '../support/load.ts';
import { inTurns } from '../support/measure.ts';
import type { Stage } from '../support/stage.ts';
import type { Row } from '../support/table.ts';

const rounds = 7;
const load = { connections: 16, durationMs: 1_500 };

/** GET /v1/sandboxes/{id} under load, with key check, windows and database, against a bare route that gives the same body. */
export const requestRow = async (stage: Stage): Promise<Row> => {
  const { id } = (await stage.call('POST', '/sandboxes', 201)) as { id: string };
  const body = await stage.call('GET', `/sandboxes/${id}`, 200);
  const bare = fastify();
  bare.get('/v1/sandboxes/:id', async () => body);
  await bare.listen({ host: '127.0.0.1', port: 0 });
  const head = `GET /v1/sandboxes/${id} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer ${stage.key}\r\n\r\n`;
  const asked = (port: number) => () => msPerRequest({ ...load, port, request: head });
  const address = bare.server.address();
  const barePort = typeof address === 'object' ? (address?.port ?? 0) : 0;
  try {
    const measured = asked(Number(new URL(stage.url).port));
    await inTurns(1, measured, asked(barePort));
    const medians = await inTurns(rounds, measured, asked(barePort));
    return { name: 'get a sandbox', yardstick: 'bare route, same body', aim: 2, ...medians };
  } finally {
    await bare.close();
    await stage.call('DELETE', `/sandboxes/${id}`, 200);
  }
};
