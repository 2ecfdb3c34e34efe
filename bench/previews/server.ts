// The server in the sandbox. Usage: node server.ts <port>
import { createServer, type ServerResponse } from 'node:http';

const block = Buffer.alloc(65_536);

/** Sends `count` zero bytes as fast as the client reads them. */
function send(response: ServerResponse, count: number): void {
  for (let left = count; left > 0; left -= block.length) {
    const piece = left < block.length ? block.subarray(0, left) : block;
    if (!response.write(piece)) {
      response.once('drain', () => send(response, left - piece.length));
      return;
    }
  }
  response.end();
}

createServer({ keepAliveTimeout: 60_000 }, (request, response) => {
  const { searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const count = Number(searchParams.get('count') ?? 5);
  request.resume().on('end', () => {
    response.writeHead(200, { 'content-length': count });
    send(response, count);
  });
}).listen(Number(process.argv[2]), '127.0.0.1');
