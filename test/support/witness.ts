import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, output, type Target } from './api-requests.ts';

const port = 7070;

/** What the program of test/snapshots/guest/witness.py says about itself. */
export interface WitnessState {
  readonly pid: number;
  readonly counted: number;
  readonly ballast_intact: boolean;
  /** Whether a local connection that it opened at its start still carries bytes. */
  readonly connected: boolean;
  readonly nameless: string;
}

/** Random values that the program made. */
export interface WitnessSecrets {
  readonly getrandom: string;
  readonly uuid: string;
  readonly tls: string;
}

/** Starts the program in a sandbox, with this much memory filled with random bytes, and waits until it listens. */
export async function startWitness(target: Target, sandboxId: string, ballastMib = 1): Promise<WitnessState> {
  const content = await readFile(join(import.meta.dirname, '../snapshots/guest/witness.py'), 'utf8');
  const response = await call(target, 'PUT', `/sandboxes/${sandboxId}/files`, { path: 'witness.py', content });
  expect(response.status).toBe(201);
  await output(
    target,
    sandboxId,
    `setsid python3 witness.py ${port} ${ballastMib} >witness.log 2>&1 & for i in $(seq 600); do (echo >/dev/tcp/127.0.0.1/${port}) 2>/dev/null && exit 0; sleep 0.2; done; cat witness.log; exit 1`,
    300_000,
  );
  return await askWitness(target, sandboxId, 'state');
}

/** Sends the program one request. */
export async function askWitness<Answer = WitnessState>(
  target: Target,
  sandboxId: string,
  request: string,
): Promise<Answer> {
  const script = `exec 3<>/dev/tcp/127.0.0.1/${port}; echo '${request}' >&3; head -n 1 <&3`;
  return JSON.parse(await output(target, sandboxId, script, 300_000)) as Answer;
}
