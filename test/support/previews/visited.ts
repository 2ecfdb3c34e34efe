import { afterAll, beforeAll } from 'vitest';
import { createSandbox, type SandboxBody } from '../http.ts';
import { startTestService, type TestService } from '../service.ts';
import { startNodeServer } from './guest-server.ts';
import { closePreview, type OpenPreview, openPreview } from './open-preview.ts';

/** A sandbox whose server is visited by the suites of a file: guest/server.mjs on a port with a preview. */
export interface Visited {
  readonly service: TestService;
  readonly sandbox: SandboxBody;
  readonly port: number;
  readonly preview: OpenPreview;
  /** Closes the preview. */
  close(): Promise<void>;
  /** Opens it again after a close: at another URL. */
  open(): Promise<void>;
}

/** Starts a service, a sandbox and the server in it before the tests of a file; nothing is left of them afterwards. */
export const useVisited = (port = 3000): Visited => {
  let service: TestService | undefined;
  let sandbox: SandboxBody | undefined;
  let preview: OpenPreview | undefined;
  const present = <Value>(value: Value | undefined): Value => {
    if (value === undefined) throw new Error('there is a preview only during tests');
    return value;
  };
  const open = async (): Promise<void> => {
    preview = await openPreview(present(service), present(sandbox).id, port);
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
      return present(service);
    },
    get sandbox() {
      return present(sandbox);
    },
    get preview() {
      return present(preview);
    },
    open,
    close: () => closePreview(present(service), present(sandbox).id, port),
  };
};
