import type { TestProject } from 'vitest/node';
import { createAnnouncer } from '#setup/announce.ts';
import { readEnvironment } from '#setup/environment.ts';
import { prepare } from '#setup/prepare.ts';

/** Runs the same set-up as `npm start` before the suites, and provides its results to them. */
export async function setup(project: TestProject): Promise<void> {
  const environment = readEnvironment(process.env);
  const announcer = createAnnouncer(process.stderr);
  const { engine, templates, tools, artifacts, compiledCodeDir } = await prepare({
    environment,
    purpose: 'tests',
    announcer,
    signal: new AbortController().signal,
  });
  project.provide('host', { engine, templates, tools, artifacts, compiledCodeDir });
}
