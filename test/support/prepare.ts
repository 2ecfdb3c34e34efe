import { createAnnouncer } from '@mayfly/setup/announce.ts';
import { readEnvironment } from '@mayfly/setup/environment.ts';
import { prepare } from '@mayfly/setup/prepare.ts';
import type { TestProject } from 'vitest/node';

/** Before the suites: the same set-up that npm start does. */
export const setup = async (project: TestProject): Promise<void> => {
  const environment = readEnvironment(process.env);
  const announcer = createAnnouncer(process.stderr);
  const { engine, templates, tools, artifacts } = await prepare({
    environment,
    purpose: 'tests',
    announcer,
    signal: new AbortController().signal,
  });
  project.provide('host', { engine, templates, tools, artifacts });
};
