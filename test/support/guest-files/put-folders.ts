import { execFile } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { relative } from 'node:path';
import { promisify } from 'node:util';
import { expect } from 'vitest';
import { call, output, type Target } from '../http.ts';

/** A piece that fits into one write in base64. */
const pieceBytes = 7 * 1024 ** 2;
const mostBytes = 256 * 1024 ** 2;
/** What nothing needs that runs. */
const leftOut = ['*.map', '*.d.ts', '*.d.mts', '*.d.cts', '*.md', '*/node_modules/.*'];

/** Copies folders and files of the host that lie under `root` into the same places under /workspace, without a network. */
export const putFolders = async (
  target: Target,
  sandboxId: string,
  root: string,
  folders: readonly string[],
): Promise<void> => {
  const names = folders.map((folder) => relative(root, folder));
  const excluded = leftOut.map((pattern) => `--exclude=${pattern}`);
  const { stdout: archive } = await promisify(execFile)('tar', ['-cz', ...excluded, ...names], {
    cwd: root,
    encoding: 'buffer',
    maxBuffer: mostBytes,
  });
  const folder = `.put-${randomUUID()}`;
  const pieces: string[] = [];
  for (let at = 0; at < archive.length; at += pieceBytes) {
    const path = `${folder}/${pieces.length}`;
    const content = archive.subarray(at, at + pieceBytes).toString('base64');
    const answer = await call(target, 'PUT', `/sandboxes/${sandboxId}/files`, { path, content, encoding: 'base64' });
    expect(answer.status).toBe(201);
    pieces.push(path);
  }
  await output(target, sandboxId, `cat ${pieces.join(' ')} | tar -xz --no-same-owner && rm -r ${folder}`);
};
