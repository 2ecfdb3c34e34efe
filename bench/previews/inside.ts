// Visits a server from inside its sandbox and prints the time it took. Usage: node inside.ts <port> <load as JSON>
import { Agent, request } from 'node:http';
import { http1Exchange } from './exchange.ts';
import { type Load, measureLoad } from './load.ts';

const [port, load] = process.argv.slice(2);
const agent = new Agent({ keepAlive: true });
const exchange = http1Exchange(request, { host: '127.0.0.1', port: Number(port), agent });
// Warm up: the first requests are slower.
await measureLoad(exchange, { kind: 'requests', together: 16, durationMs: 1_000 });
console.log(await measureLoad(exchange, JSON.parse(load ?? '') as Load));
agent.destroy();
