// An HTTPS server on port 443 that runs until it is killed. Argument: JSON with the key and the certificate.
import { createServer } from 'node:https';

const { key, cert } = JSON.parse(process.argv[2] ?? '') as { key: string; cert: string };
createServer({ key, cert }, (request, response) => {
  response.end(`${request.method} ${request.headers.host}${request.url} at ${request.socket.localAddress}\n`);
}).listen(443, '0.0.0.0', () => process.stdout.write('listening\n'));
