import { join } from 'node:path';
import { expect } from 'vitest';
import { moduleFolders } from '../guest-files/module-folders.ts';
import { putFolders } from '../guest-files/put-folders.ts';
import { call, output, type Target } from '../http.ts';

const root = join(import.meta.dirname, '../../..');
const scripts = 'test/previews/guest';

/** Writes a text file into a sandbox. */
export const putFile = async (target: Target, sandboxId: string, path: string, content: string): Promise<void> => {
  const answer = await call(target, 'PUT', `/sandboxes/${sandboxId}/files`, { path, content });
  expect(answer.status).toBe(201);
};

/** Starts a server in a sandbox, with what it says in a file named after its port, and waits until it listens. */
export const startServer = async (target: Target, sandboxId: string, command: string, port: number): Promise<void> => {
  const start = `(exec ${command}) >port-${port}.log 2>&1 </dev/null &`;
  await output(target, sandboxId, `${start} until ss -Hltn | grep -q ':${port} '; do sleep 0.1; done`);
};

/** The command of the server that shows what reaches it and speaks WebSocket. */
export const nodeServer = (port: number): string => `node ${scripts}/server.mjs ${port}`;

/** Python's own server of files. */
export const pythonServer = (folder: string, port: number): string =>
  `python3 -m http.server --bind 127.0.0.1 --directory ${folder} ${port}`;

/** Brings and starts the server that shows what reaches it and speaks WebSocket. */
export const startNodeServer = async (target: Target, sandboxId: string, port: number): Promise<void> => {
  const script = join(root, scripts, 'server.mjs');
  await putFolders(target, sandboxId, root, [...(await moduleFolders('ws', root)), script]);
  await startServer(target, sandboxId, nodeServer(port), port);
};

/** Brings and starts the server that moves large bodies at little cost. */
export const startBulkServer = async (target: Target, sandboxId: string, port: number): Promise<void> => {
  await putFolders(target, sandboxId, root, [join(root, scripts, 'bulk.py')]);
  await startServer(target, sandboxId, `python3 ${scripts}/bulk.py ${port}`, port);
};

const viteApp = `${scripts}/vite-app`;
/** The folder in the sandbox that Vite's dev server serves. */
export const viteFolder = `/workspace/${viteApp}`;

/** Brings and starts Vite's dev server. */
export const startVite = async (target: Target, sandboxId: string, port: number): Promise<void> => {
  await putFolders(target, sandboxId, root, [...(await moduleFolders('vite', root)), join(root, viteApp)]);
  const command = `node node_modules/vite/bin/vite.js ${viteApp} --port ${port} --strictPort`;
  await startServer(target, sandboxId, command, port);
};
