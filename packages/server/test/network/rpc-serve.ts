import { createInterface } from 'node:readline';

/** Answers orders on standard input with what the handlers return, until it ends. */
export const serveRpc = (handlers: Readonly<Record<string, (order: never) => unknown>>): void => {
  createInterface(process.stdin)
    .on('line', (line) => {
      const { id, op, ...order }: { id: number; op: string } = JSON.parse(line);
      const handler = handlers[op] as ((order: object) => unknown) | undefined;
      Promise.resolve()
        .then(() => {
          if (!handler) throw new Error(`no such order: ${op}`);
          return handler(order);
        })
        .then(
          (value) => ({ id, value }),
          (error: unknown) => ({ id, error: error instanceof Error ? error.message : String(error) }),
        )
        .then((answer) => process.stdout.write(`${JSON.stringify(answer)}\n`))
        .catch(() => {});
    })
    .on('close', () => process.exit(0));
};
