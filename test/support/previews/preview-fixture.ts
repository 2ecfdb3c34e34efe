import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, expect } from 'vitest';
import { call, createSandbox, type SandboxBody, type Target } from '../api-requests.ts';
import { type SnapshotBody, takeSnapshot } from '../snapshots.ts';
import { startTestService, type TestService } from '../test-service.ts';
import type { PreviewAddress } from './connections.ts';
import { startNodeServer } from './guest-server.ts';

/** A service with previews. */
export interface PreviewTarget extends Target {
  /** The certificate of the authority that signs the certificates of previews (PEM). */
  readonly previewRootFile: string;
}

export interface OpenPreview extends PreviewAddress {
  /** The unguessable part of the host name. */
  readonly token: string;
}

/** Opens a preview of a port and returns its address for a visitor who trusts the service's authority. */
export async function openPreview(target: PreviewTarget, sandboxId: string, port: number): Promise<OpenPreview> {
  const response = await call(target, 'POST', `/sandboxes/${sandboxId}/ports`, { port });
  expect(response.status).toBe(201);
  const { url } = (await response.json()) as { readonly url: string };
  const token = new URL(url).hostname.split('.', 1)[0] ?? '';
  return { url, ca: await readFile(target.previewRootFile, 'utf8'), token };
}

/** Closes the preview of a port. */
export async function closePreview(target: Target, sandboxId: string, port: number): Promise<void> {
  expect((await call(target, 'DELETE', `/sandboxes/${sandboxId}/ports/${port}`)).status).toBe(200);
}

/** A snapshot of a sandbox, and another sandbox that was created from it. */
interface Copied {
  readonly snapshot: SnapshotBody;
  readonly copy: SandboxBody;
}

/** A sandbox that runs guest/server.mjs on a port with an open preview. The suites of a file share it. */
export interface PreviewFixture {
  readonly service: TestService;
  readonly sandbox: SandboxBody;
  readonly port: number;
  readonly preview: OpenPreview;
  /** A snapshot of the sandbox and a copy of it, whose server runs from the start. Both are made at the first call. */
  copied(): Promise<Copied>;
  /** Closes the preview. */
  close(): Promise<void>;
  /** Opens the preview again after it was closed. It gets a new URL. */
  open(): Promise<void>;
}

/** Starts a service, a sandbox and its server before the tests of a file, and stops them afterwards. */
export function usePreviewFixture(port = 3000): PreviewFixture {
  let service: TestService | undefined;
  let sandbox: SandboxBody | undefined;
  let preview: OpenPreview | undefined;
  let copied: Promise<Copied> | undefined;
  const started = <Value>(value: Value | undefined): Value => {
    if (value === undefined) throw new Error('the preview fixture is available only during tests');
    return value;
  };
  const open = async (): Promise<void> => {
    preview = await openPreview(started(service), started(sandbox).id, port);
  };
  const makeCopy = async (): Promise<Copied> => {
    const snapshot = await takeSnapshot(started(service), started(sandbox).id);
    return { snapshot, copy: await createSandbox(started(service), { snapshot_id: snapshot.id }) };
  };
  beforeAll(async () => {
    service = await startTestService();
    sandbox = await createSandbox(service);
    await startNodeServer(service, sandbox.id, port);
    await open();
  });
  afterAll(() => service?.stop());
  return {
    port,
    get service() {
      return started(service);
    },
    get sandbox() {
      return started(sandbox);
    },
    get preview() {
      return started(preview);
    },
    copied: () => {
      copied ??= makeCopy();
      return copied;
    },
    open,
    close: () => closePreview(started(service), started(sandbox).id, port),
  };
}
