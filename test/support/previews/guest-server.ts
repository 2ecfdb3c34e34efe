import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { moduleFolders } from '../guest-files/module-folders.ts';
import { putFolders } from '../guest-files/put-folders.ts';
import { call, output, type Target } from '../http.ts';

const root = join(import.meta.dirname, '../../..');
const scripts = join(root, 'test/previews/guest');

/** Writes a text file into a sandbox. */
export const putFile = async (target: Target, sandboxId: string, path: string, content: string): Promise<void> => {
  const answer = await call(target, 'PUT', `/sandboxes/${sandboxId}/files`, { path, content });
  expect(answer.status).toBe(201);
};

/** Starts a program in a sandbox that goes on after this, with what it says in a file named after the port. */
export const startInside = async (target: Target, sandboxId: string, command: string, port: number): Promise<void> => {
  await output(target, sandboxId, `(exec ${command}) >port-${port}.log 2>&1 </dev/null & `);
};

/** Settles once something listens on a port of the sandbox. */
export const listening = async (target: Target, sandboxId: string, port: number): Promise<void> => {
  await output(target, sandboxId, `until ss -Hltn | grep -q ':${port} '; do sleep 0.1; done`);
};

/** Starts one of the suites' own servers on a port of a sandbox and waits until it listens. */
const startScript = async (target: Target, sandboxId: string, run: string, script: string, port: number) => {
  await putFile(target, sandboxId, script, await readFile(join(scripts, script), 'utf8'));
  await startInside(target, sandboxId, `${run} ${script} ${port}`, port);
  await listening(target, sandboxId, port);
};

/** The server that shows what reaches it and speaks WebSocket: guest/server.mjs. */
export const startNodeServer = async (target: Target, sandboxId: string, port: number): Promise<void> => {
  await putFolders(target, sandboxId, root, await moduleFolders('ws', root));
  await startScript(target, sandboxId, 'node', 'server.mjs', port);
};

/** The server that moves large bodies at little cost: guest/bulk.py. */
export const startBulkServer = (target: Target, sandboxId: string, port: number): Promise<void> =>
  startScript(target, sandboxId, 'python3', 'bulk.py', port);
