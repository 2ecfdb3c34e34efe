import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import { inTurns, timed } from '../support/measure.ts';
import { peakGrowth } from '../support/memory.ts';
import type { Stage } from '../support/stage.ts';
import type { Row } from '../support/table.ts';

const rounds = 15;
const attachMs = 60_000;
const mib = 1024 ** 2;
const fileBytes = 8 * mib;
const together = 8;

/** Sends bytes and drops the answer's: a client that costs as little as can be. */
const exchange = (stage: Stage, method: string, path: string, status: number, body?: Buffer): Promise<void> =>
  new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${stage.key}`, ...(body && { 'content-length': body.length }) };
    const sent = request(`${stage.url}/v1${path}`, { method, headers }, (answer) => {
      answer.resume().on('error', reject);
      answer.on('end', () => (answer.statusCode === status ? resolve() : reject(new Error(`${answer.statusCode}`))));
    });
    sent.on('error', reject).end(body);
  });

/** Moving 8 MiB of any bytes through the API against moving them straight to and from an agent; what it takes of memory is printed. */
export const fileRows = async (stage: Stage): Promise<Row[]> => {
  const { id } = (await stage.call('POST', '/sandboxes', 201)) as { id: string };
  const machine = await stage.driver.launch({ id: 'files', size: 'small' });
  const agent = await stage.connector.attach(machine, attachMs);
  const content = randomBytes(fileBytes);
  const body = Buffer.from(JSON.stringify({ path: 'f', encoding: 'base64', content: content.toString('base64') }));
  const write = () => exchange(stage, 'PUT', `/sandboxes/${id}/files`, 201, body);
  const read = () => exchange(stage, 'GET', `/sandboxes/${id}/files?path=f&encoding=base64`, 200);
  const writeStraight = () => agent.writeFile('f', content, fileBytes);
  const readStraight = () => agent.readFile('f', fileBytes);
  const ms = (work: () => Promise<unknown>) => async () => (await timed(work)).ms;
  try {
    await inTurns(2, ms(write), ms(writeStraight));
    const writes = await inTurns(rounds, ms(write), ms(writeStraight));
    await inTurns(2, ms(read), ms(readStraight));
    const reads = await inTurns(rounds, ms(read), ms(readStraight));
    for (const [name, work] of Object.entries({ writes: write, reads: read })) {
      const { buffersMib, residentMib } = await peakGrowth(() => Promise.all(Array.from({ length: together }, work)));
      const grown = `${buffersMib.toFixed(0)} MiB more in buffers, ${residentMib.toFixed(0)} MiB more resident`;
      console.log(`${together} ${name} of 8 MiB at once: ${grown} at the peak`);
    }
    const yardstick = 'straight to the agent';
    return [
      { name: 'write 8 MiB', yardstick, aim: 1.5, ...writes },
      { name: 'read 8 MiB', yardstick, aim: 1.5, ...reads },
    ];
  } finally {
    agent.close();
    await machine.destroy();
    await stage.call('DELETE', `/sandboxes/${id}`, 200);
  }
};
