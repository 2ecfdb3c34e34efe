import { join } from 'node:path';
import { expect } from 'vitest';
import { call, output, type Target } from '../api-requests.ts';
import { copyToSandbox, packageFolders } from '../guest-files.ts';

const root = join(import.meta.dirname, '../../..');
const scripts = 'test/previews/guest';

/** Vite takes half a minute to start under emulation, and longer on a busy host. */
const startDeadlineMs = 600_000;

/** Writes a text file into a sandbox. */
export async function putFile(target: Target, sandboxId: string, path: string, content: string): Promise<void> {
  const response = await call(target, 'PUT', `/sandboxes/${sandboxId}/files`, { path, content });
  expect(response.status).toBe(201);
}

/** Starts a server in a sandbox and waits until it listens. Its output goes to a file named after the port. */
export async function startServer(target: Target, sandboxId: string, command: string, port: number): Promise<void> {
  const start = `(exec ${command}) >port-${port}.log 2>&1 </dev/null &`;
  // bash connects by itself: two programs in every round would take more of an emulated CPU than the server that starts beside them.
  const isListening = `{ : 3<>/dev/tcp/localhost/${port}; } 2>/dev/null`;
  await output(target, sandboxId, `${start} until ${isListening}; do sleep 0.3; done`, startDeadlineMs);
}

/** The command that runs guest/server.mjs, which reports the requests it receives and accepts WebSockets. */
export function nodeServer(port: number): string {
  return `node ${scripts}/server.mjs ${port}`;
}

/** The command that runs Python's file server. */
export function pythonServer(folder: string, port: number): string {
  return `python3 -m http.server --bind 127.0.0.1 --directory ${folder} ${port}`;
}

/** Copies guest/server.mjs into a sandbox and starts it. */
export async function startNodeServer(target: Target, sandboxId: string, port: number): Promise<void> {
  const script = join(root, scripts, 'server.mjs');
  await copyToSandbox(target, sandboxId, root, [...(await packageFolders('ws', root)), script]);
  await startServer(target, sandboxId, nodeServer(port), port);
}

/** Copies guest/bulk.py, which handles large bodies efficiently, into a sandbox and starts it. */
export async function startBulkServer(target: Target, sandboxId: string, port: number): Promise<void> {
  await copyToSandbox(target, sandboxId, root, [join(root, scripts, 'bulk.py')]);
  await startServer(target, sandboxId, `python3 ${scripts}/bulk.py ${port}`, port);
}

const viteApp = `${scripts}/vite-app`;
/** The folder in the sandbox that Vite's dev server serves. */
export const viteFolder = `/workspace/${viteApp}`;

/** Copies Vite and an app into a sandbox and starts Vite's dev server. */
export async function startVite(target: Target, sandboxId: string, port: number): Promise<void> {
  await copyToSandbox(target, sandboxId, root, [...(await packageFolders('vite', root)), join(root, viteApp)]);
  const command = `node node_modules/vite/bin/vite.js ${viteApp} --port ${port} --strictPort`;
  await startServer(target, sandboxId, command, port);
}
