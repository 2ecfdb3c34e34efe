// Runs in a sandbox for the preview suites: a server on localhost that reports the requests it receives.
// Needs the `ws` package. Usage: node server.mjs <port>
import { createHash } from 'node:crypto';
import { createServer } from 'node:http';
import { hostname } from 'node:os';
import { pipeline, Readable } from 'node:stream';
import { WebSocketServer } from 'ws';

const port = Number(process.argv[2]);
const block = Buffer.alloc(65_536, 'mayfly ');
const listeners = new Set();
let connections = 0;

const page = `<!doctype html><title>Node server</title><p id="socket"></p><p id="event"></p>
<script type="module">
  const show = (id, text) => { document.getElementById(id).textContent = text; };
  const socket = new WebSocket(location.href.replace('https:', 'wss:') + 'socket');
  socket.onopen = () => socket.send('from the page');
  socket.onmessage = ({ data }) => show('socket', data);
  window.say = (text) => socket.send(text);
  const events = new EventSource('/events');
  events.onmessage = ({ data }) => show('event', data);
</script>`;

/** The given number of bytes, generated on demand. */
function* bytes(count) {
  for (let remaining = count; remaining > 0; remaining -= block.length)
    yield remaining < block.length ? block.subarray(0, remaining) : block;
}

function sendJson(response, value) {
  const body = JSON.stringify(value);
  response.writeHead(200, { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

const handlers = {
  '/': (_request, response) => response.writeHead(200, { 'content-type': 'text/html' }).end(page),
  '/hostname': (_request, response) => response.end(hostname()),
  /** Returns the request as it arrived. */
  '/seen': (request, response) => {
    const { method, url, httpVersion, rawHeaders } = request;
    request.resume().on('end', () => sendJson(response, { method, url, httpVersion, rawHeaders, connections }));
  },
  /** Stays open and sends an event for each POST to /say. */
  '/events': (_request, response) => {
    response.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-cache' });
    response.write(': open\n\n');
    listeners.add(response);
    response.on('close', () => listeners.delete(response));
  },
  '/say': (request, response) => {
    request
      .setEncoding('utf8')
      .toArray()
      .then((parts) => {
        for (const listener of listeners) listener.write(`data: ${parts.join('')}\n\n`);
        sendJson(response, { listeners: listeners.size });
      })
      .catch(() => {});
  },
  /** Sends back each chunk of the body as it arrives. */
  '/echo': (request, response) => {
    response.writeHead(200, { 'content-type': 'application/octet-stream' });
    response.flushHeaders();
    pipeline(request, response, () => {});
  },
  '/upload': async (request, response) => {
    const hash = createHash('sha256');
    let count = 0;
    try {
      for await (const chunk of request) {
        hash.update(chunk);
        count += chunk.length;
      }
    } catch {
      // The visitor is gone.
      return;
    }
    const { 'content-length': length, 'transfer-encoding': encoding } = request.headers;
    sendJson(response, { bytes: count, sha256: hash.digest('hex'), length, encoding });
  },
  /** Reads a body and discards it. */
  '/drop': (request, response) => {
    let count = 0;
    request.on('data', (chunk) => {
      count += chunk.length;
    });
    request.on('end', () => sendJson(response, { bytes: count }));
  },
  '/bytes': (request, response) => {
    const count = Number(new URL(request.url, 'http://localhost').searchParams.get('count'));
    response.writeHead(200, { 'content-type': 'application/octet-stream', 'content-length': count });
    pipeline(Readable.from(bytes(count)), response, () => {});
  },
  /** Sends headers and a first chunk, and never ends. */
  '/hold': (_request, response) => {
    response.writeHead(200);
    response.write('held');
  },
  '/never': () => {},
  /** Starts to listen on another port after a delay, also for WebSockets. */
  '/listen': (request, response) => {
    const { searchParams } = new URL(request.url, 'http://localhost');
    const late = createServer((_, lateResponse) => lateResponse.end('late')).on('upgrade', acceptSocket);
    setTimeout(() => late.listen(Number(searchParams.get('port')), '127.0.0.1'), Number(searchParams.get('after')));
    response.end();
  },
  '/break': (_request, response) => {
    response.writeHead(200, { 'content-length': 1_000 });
    response.write('a part', () => response.destroy());
  },
  '/headers': (_request, response) => {
    response.writeHead(418, 'Teapot', [
      ...['set-cookie', 'a=1; Path=/', 'set-cookie', 'b=2; Domain=localhost', 'x-own', 'kept'],
      ...['location', `http://localhost:${port}/elsewhere`, 'connection', 'x-hop', 'x-hop', 'gone'],
    ]);
    response.end('short and stout');
  },
  '/huge-headers': (_request, response) => {
    response.writeHead(200, { 'x-huge': 'x'.repeat(100_000) });
    response.end();
  },
};

const server = createServer({ maxHeaderSize: 1_048_576, keepAliveTimeout: 60_000 }, (request, response) => {
  const { pathname } = new URL(request.url, 'http://localhost');
  const handler = handlers[pathname];
  if (handler) handler(request, response);
  else response.writeHead(404).end('not here');
});
server.on('connection', () => {
  connections += 1;
});

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: true });
function acceptSocket(request, socket, head) {
  // From here on, node:http does not listen any more: a visitor who is gone would end this process.
  socket.on('error', () => {});
  if (request.url.startsWith('/refused')) return socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 2\r\n\r\nno');
  sockets.handleUpgrade(request, socket, head, (client) => {
    client.on('message', (data, isBinary) => {
      const reply = isBinary ? data : Buffer.concat([Buffer.from('back: '), data]);
      client.send(reply, { binary: isBinary });
    });
    client.on('error', () => {});
    if (request.url.startsWith('/socket/seen')) client.send(JSON.stringify(request.rawHeaders));
  });
}
server.on('upgrade', acceptSocket);
server.listen(port, '127.0.0.1');
