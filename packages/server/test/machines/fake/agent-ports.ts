import {
  type IncomingHttpHeaders,
  performServerHandshake,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2';
import type { Duplex } from 'node:stream';
import type { FakeAgent } from './agent.ts';
import type { Gate } from './gate.ts';
import { FakeRefusal, sendJson } from './respond.ts';

/** Serves one channel from the guest's side: one attach, then HTTP/2. While the gate is shut nothing is answered. */
export async function serveAgentPorts(control: Duplex, data: Duplex, agent: FakeAgent, gate: Gate): Promise<void> {
  for (const stream of [control, data]) stream.on('error', () => {});
  const nonce = await readUntil(control, /\nattach ([0-9a-f]{32})\n/);
  if (nonce === undefined) return;
  control.resume();
  const synced = await readUntil(data, new RegExp(`MAYFLY-SYNC (${nonce})\n`));
  await gate.passed();
  if (synced === undefined || data.destroyed) return;
  control.write(`ready ${nonce}\n`);
  data.write(`\nMAYFLY-SYNC ${nonce}\n`, () => {
    if (!data.destroyed) serveSession(performServerHandshake(data), agent, gate);
  });
}

function serveSession(session: ServerHttp2Session, agent: FakeAgent, gate: Gate): void {
  session.on('error', () => {});
  const answer = async (stream: ServerHttp2Stream, headers: IncomingHttpHeaders): Promise<void> => {
    stream.on('error', () => {});
    try {
      await gate.passed();
      if (stream.destroyed) return;
      const url = new URL(String(headers[':path']), 'http://agent');
      await agent.answer(stream, String(headers[':method']), url);
    } catch (error) {
      if (stream.destroyed) return;
      if (stream.headersSent) stream.destroy();
      else if (error instanceof FakeRefusal)
        sendJson(stream, { code: error.code, message: error.message }, error.status);
      else sendJson(stream, { code: 'internal', message: String(error).slice(0, 1_000) }, 500);
    }
  };
  session.on('stream', (stream: ServerHttp2Stream, headers) => void answer(stream, headers));
}

/** The first group of the pattern once it has come, or undefined when the stream ends first. Leaves the stream paused. */
function readUntil(stream: Duplex, pattern: RegExp): Promise<string | undefined> {
  return new Promise((resolve) => {
    let seen = '';
    const settle = (found: string | undefined) => {
      stream.off('data', onData).off('close', onClose).off('end', onClose).pause();
      resolve(found);
    };
    const onClose = () => settle(undefined);
    const onData = (chunk: Buffer) => {
      seen += chunk.toString('latin1');
      const found = pattern.exec(seen);
      if (found !== null) settle(found[1]);
    };
    if (stream.destroyed) onClose();
    else stream.on('data', onData).on('close', onClose).on('end', onClose);
  });
}
