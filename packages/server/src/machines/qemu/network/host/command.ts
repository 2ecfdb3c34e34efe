import { spawn } from 'node:child_process';

/** How long a program of the host may take, in milliseconds. */
const deadlineMs = 20_000;

/** Runs a program with text on its standard input and returns what it printed. Fails with what it complained about. */
export const run = (program: string, argv: readonly string[], input = ''): Promise<string> =>
  new Promise((resolve, reject) => {
    const child = spawn(program, argv, { stdio: 'pipe', timeout: deadlineMs, killSignal: 'SIGKILL' });
    const output: Buffer[] = [];
    const complaint: Buffer[] = [];
    child.stdout.on('data', (chunk: Buffer) => output.push(chunk));
    child.stderr.on('data', (chunk: Buffer) => complaint.push(chunk));
    child.stdin.on('error', () => {});
    child.once('error', (cause) => reject(new Error(`could not start ${program}: ${cause.message}`, { cause })));
    child.once('close', (code, signal) => {
      if (code === 0) return resolve(Buffer.concat(output).toString());
      const end = signal ? `was killed by ${signal}` : `ended with ${code}`;
      reject(new Error(`${program} ${end}: ${Buffer.concat(complaint).toString().trim()}`));
    });
    child.stdin.end(input);
  });
