/** Thrown when work took longer than its deadline. */
export class DeadlineExceeded extends Error {
  constructor(what: string, deadlineMs: number) {
    super(`${what} took longer than ${deadlineMs} ms`);
    this.name = 'DeadlineExceeded';
  }
}

export interface DeadlineOptions<T> {
  /** Receives a result that arrives after the deadline, so that nothing it holds is lost. */
  readonly onLate?: (result: T) => void;
}

/** Waits for the work at most `deadlineMs`, then throws DeadlineExceeded. The work itself is not stopped. */
export async function withDeadline<T>(
  what: string,
  deadlineMs: number,
  work: Promise<T>,
  { onLate = () => {} }: DeadlineOptions<T> = {},
): Promise<T> {
  let expired = false;
  let timer: NodeJS.Timeout | undefined;
  work.then(
    (result) => expired && onLate(result),
    () => {},
  );
  try {
    return await Promise.race([
      work,
      new Promise<never>((_, reject) => {
        timer = setTimeout(() => {
          expired = true;
          reject(new DeadlineExceeded(what, deadlineMs));
        }, deadlineMs);
      }),
    ]);
  } finally {
    clearTimeout(timer);
  }
}

/** What closeHttp needs of a Fastify instance. */
interface HttpServer {
  close(): PromiseLike<unknown>;
  readonly server: { closeAllConnections(): void };
}

/** Stops accepting connections, lets requests in flight finish until the deadline, then cuts the rest. */
export async function closeHttp(app: HttpServer, deadlineMs: number): Promise<void> {
  const timer = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
  try {
    await app.close();
  } finally {
    clearTimeout(timer);
  }
}
