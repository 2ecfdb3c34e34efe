import type { TestProject } from 'vitest/node';
import { createAnnouncer } from '#setup/announce.ts';
import { readEnvironment } from '#setup/environment.ts';
import { prepare } from '#setup/prepare.ts';

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
