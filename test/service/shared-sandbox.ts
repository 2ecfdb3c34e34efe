import { afterAll, beforeAll } from 'vitest';
import { createSandbox, type SandboxBody } from '../support/api-requests.ts';
import { startTestService, type TestService } from '../support/test-service.ts';

/** A service with one sandbox, shared by the tests of a file. */
export interface SharedSandbox {
  service: TestService;
  sandbox: SandboxBody;
}

/** Starts the service and creates the sandbox before the tests of a file; stops the service after them. Only set during tests. */
export function useSharedSandbox(): SharedSandbox {
  const shared = {} as SharedSandbox;
  beforeAll(async () => {
    shared.service = await startTestService();
    shared.sandbox = await createSandbox(shared.service);
  });
  afterAll(async () => {
    await shared.service.stop();
  });
  return shared;
}
