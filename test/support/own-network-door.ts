// Runs in the network namespace of a browser. Accepts its connections and hands them to the test, which is in the namespace of the host.
import { createServer } from 'node:net';

const server = createServer({ pauseOnConnect: true }, (socket) => process.send?.('connection', socket));
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  process.send?.(typeof address === 'object' ? address?.port : undefined);
});
process.once('disconnect', () => process.exit());
