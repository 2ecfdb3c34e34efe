import { join } from 'node:path';
import { moduleFolders } from '../guest-files/module-folders.ts';
import { putFolders } from '../guest-files/put-folders.ts';
import type { Target } from '../http.ts';
import { listening, startInside } from './guest-server.ts';

const root = join(import.meta.dirname, '../../..');
const app = 'test/previews/guest/vite-app';

/** The folder in the sandbox that the Vite server serves. */
export const viteFolder = `/workspace/${app}`;

/** Starts Vite's dev server on a port of a sandbox, with all that it needs from here, and waits until it listens. */
export const startVite = async (target: Target, sandboxId: string, port: number): Promise<void> => {
  await putFolders(target, sandboxId, root, [...(await moduleFolders('vite', root)), join(root, app)]);
  const command = `node node_modules/vite/bin/vite.js ${app} --port ${port} --strictPort`;
  await startInside(target, sandboxId, command, port);
  await listening(target, sandboxId, port);
};
