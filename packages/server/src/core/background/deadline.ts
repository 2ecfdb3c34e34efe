/** Thrown when something took longer than it may. */
export class DeadlineExceeded extends Error {
  constructor(what: string, deadlineMs: number) {
    super(`${what} took longer than ${deadlineMs} ms`);
    this.name = 'DeadlineExceeded';
  }
}

/** The work's outcome, or DeadlineExceeded. What comes out too late goes to `late`, so that nothing it holds is lost. */
export async function withDeadline<T>(
  what: string,
  deadlineMs: number,
  work: Promise<T>,
  late: (outcome: T) => void = () => {},
): Promise<T> {
  let expired = false;
  let timer: NodeJS.Timeout | undefined;
  work.then(
    (outcome) => expired && late(outcome),
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
