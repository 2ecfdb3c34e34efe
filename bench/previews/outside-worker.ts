// Visits a preview in a separate thread, so that it does not share the service's event loop.
import { once } from 'node:events';
import { connect as connectHttp2 } from 'node:http2';
import { Agent, request } from 'node:https';
import { connect } from 'node:tls';
import { parentPort, workerData } from 'node:worker_threads';
import { http1Exchange, http2Exchange } from './exchange.ts';
import { measureLoad } from './load.ts';
import type { Visitor } from './outside.ts';

const { url, ca, protocol, load } = workerData as Visitor;
const { hostname: servername, port, host } = new URL(url);
const route = { host: '127.0.0.1', port: Number(port), servername, ca };

async function overHttp1(): Promise<number> {
  const agent = new Agent({ keepAlive: true });
  const ms = await measureLoad(http1Exchange(request, { ...route, agent }, host), load);
  agent.destroy();
  return ms;
}

async function overHttp2(): Promise<number> {
  const socket = connect({ ...route, ALPNProtocols: ['h2'] });
  await once(socket, 'secureConnect');
  const session = connectHttp2(url, { createConnection: () => socket, settings: { initialWindowSize: 1024 ** 2 } });
  const ms = await measureLoad(http2Exchange(session), load);
  session.destroy();
  return ms;
}

parentPort?.postMessage(await (protocol === 'HTTP/2' ? overHttp2() : overHttp1()));
