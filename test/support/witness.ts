import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { call, output, type Target } from './api-requests.ts';

/** Where the program listens. */
export const witnessPort = 7070;

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
  /** The random bytes in the first message of a TLS client, and the key in it. */
  readonly tls: string;
  readonly tls_key: string;
}

interface WitnessOptions {
  /** How much memory is filled with random bytes. */
  readonly ballastMib?: number;
  /** Whether it will be asked for secrets: what makes them takes long to load. */
  readonly secrets?: boolean;
}

/** Starts the program in a sandbox and waits until it listens. Returns its state. */
export async function startWitness(
  target: Target,
  sandboxId: string,
  { ballastMib = 1, secrets = false }: WitnessOptions = {},
): Promise<WitnessState> {
  const content = await readFile(join(import.meta.dirname, '../snapshots/guest/witness.py'), 'utf8');
  const response = await call(target, 'PUT', `/sandboxes/${sandboxId}/files`, { path: 'witness.py', content });
  expect(response.status).toBe(201);
  // -S and -E start Python in half the time. It says its state when it listens, so nothing has to ask again and again.
  const start = `exec setsid python3 -S -E witness.py ${witnessPort} ${ballastMib} ${secrets ? 'secrets' : ''}`;
  const script = `if read -r state < <(${start} 2>witness.log </dev/null); then echo "$state"; else cat witness.log; exit 1; fi`;
  return JSON.parse(await output(target, sandboxId, script, 300_000)) as WitnessState;
}

/** Sends the program one request. */
export async function askWitness<Answer = WitnessState>(
  target: Target,
  sandboxId: string,
  request: string,
): Promise<Answer> {
  // Without another process: starting one takes an emulated machine longer than the answer.
  const script = `exec 3<>/dev/tcp/127.0.0.1/${witnessPort}; echo '${request}' >&3; read -r answer <&3 && echo "$answer"`;
  return JSON.parse(await output(target, sandboxId, script, 300_000)) as Answer;
}

/** Waits until the program has counted on since it said this: it runs. */
export async function expectCountingOn(
  target: Target,
  sandboxId: string,
  { counted }: Pick<WitnessState, 'counted'>,
): Promise<void> {
  const ask = () => askWitness<Pick<WitnessState, 'counted'>>(target, sandboxId, 'counted');
  await expect.poll(async () => (await ask()).counted).toBeGreaterThan(counted);
}
