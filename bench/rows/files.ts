import { randomBytes } from 'node:crypto';
import { request } from 'node:http';
import type { BenchHost } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import { peakGrowth } from '../support/memory.ts';
import type { Row } from '../support/table.ts';

const rounds = 15;
const attachMs = 60_000;
const mib = 1024 ** 2;
const fileBytes = 8 * mib;
const together = 8;

/** Sends a request and discards the response body: a client with as little overhead as possible. */
function exchange(bench: BenchHost, method: string, path: string, status: number, body?: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    const headers = { authorization: `Bearer ${bench.key}`, ...(body && { 'content-length': body.length }) };
    const sent = request(`${bench.url}/v1${path}`, { method, headers }, (answer) => {
      answer.resume().on('error', reject);
      answer.on('end', () => (answer.statusCode === status ? resolve() : reject(new Error(`${answer.statusCode}`))));
    });
    sent.on('error', reject).end(body);
  });
}

/** Moving 8 MiB through the API, compared with moving it directly to and from an agent. Also prints the memory it takes. */
export async function fileRows(bench: BenchHost): Promise<Row[]> {
  const { id } = (await bench.call('POST', '/sandboxes', 201)) as { id: string };
  const machine = await bench.driver.launch({ id: 'files', size: 'small' });
  const agent = await bench.connector.attach(machine, attachMs);
  const content = randomBytes(fileBytes);
  const body = Buffer.from(JSON.stringify({ path: 'f', encoding: 'base64', content: content.toString('base64') }));
  const write = () => exchange(bench, 'PUT', `/sandboxes/${id}/files`, 201, body);
  const read = () => exchange(bench, 'GET', `/sandboxes/${id}/files?path=f&encoding=base64`, 200);
  const writeDirectly = () => agent.writeFile('f', content, fileBytes);
  const readDirectly = () => agent.readFile('f', fileBytes);
  const ms = (work: () => Promise<unknown>) => async () => (await timed(work)).ms;
  try {
    await alternate(2, ms(write), ms(writeDirectly));
    const writes = await alternate(rounds, ms(write), ms(writeDirectly));
    await alternate(2, ms(read), ms(readDirectly));
    const reads = await alternate(rounds, ms(read), ms(readDirectly));
    for (const [name, work] of Object.entries({ writes: write, reads: read })) {
      const { buffersMib, residentMib } = await peakGrowth(() => Promise.all(Array.from({ length: together }, work)));
      const grown = `${buffersMib.toFixed(0)} MiB more in buffers, ${residentMib.toFixed(0)} MiB more resident`;
      console.log(`${together} ${name} of 8 MiB at once: ${grown} at the peak`);
    }
    const baseline = 'directly to the agent';
    return [
      { name: 'write 8 MiB', baseline, target: 1.5, ...writes },
      { name: 'read 8 MiB', baseline, target: 1.5, ...reads },
    ];
  } finally {
    agent.close();
    await machine.destroy();
    await bench.call('DELETE', `/sandboxes/${id}`, 200);
  }
}
