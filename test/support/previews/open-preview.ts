import { readFile } from 'node:fs/promises';
import { expect } from 'vitest';
import { call, type Target } from '../http.ts';
import type { Place } from './route.ts';

/** A service with previews. */
export interface PreviewTarget extends Target {
  /** The certificate of the authority that signs for its previews. */
  readonly previewRootFile: string;
}

export interface OpenPreview extends Place {
  /** The part of the URL that nobody can guess. */
  readonly token: string;
}

/** Opens a port of a sandbox; gives its place, to be visited by somebody who trusts the service's own authority. */
export const openPreview = async (target: PreviewTarget, sandboxId: string, port: number): Promise<OpenPreview> => {
  const answer = await call(target, 'POST', `/sandboxes/${sandboxId}/ports`, { port });
  expect(answer.status).toBe(201);
  const { url } = (await answer.json()) as { readonly url: string };
  const token = new URL(url).hostname.split('.', 1)[0] ?? '';
  return { url, ca: await readFile(target.previewRootFile, 'utf8'), token };
};

/** Closes the preview of a port. */
export const closePreview = async (target: Target, sandboxId: string, port: number): Promise<void> => {
  expect((await call(target, 'DELETE', `/sandboxes/${sandboxId}/ports/${port}`)).status).toBe(200);
};
