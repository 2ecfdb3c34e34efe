import type { TestProject } from 'vitest/node';
import { createAnnouncer } from '#setup/announce.ts';
import { planBuild } from '#setup/artifacts.ts';
import { readEnvironment } from '#setup/environment.ts';
import { describeAcceleration, prepareParts } from '#setup/prepare.ts';
import { chooseEngine } from '#setup/steps/engine.ts';
import { ensureTemplate, ensureTemplates, type Templates } from '#setup/templates/ensure-templates.ts';

/**
 * Sets up what the service needs, and refuses a host without KVM. The short form builds only the small template, so that no other size can
 * be created.
 */
export async function setup(project: TestProject): Promise<void> {
  const { signal } = new AbortController();
  const announcer = createAnnouncer(process.stderr);
  const options = { environment: readEnvironment(process.env), purpose: 'service', announcer, signal } as const;
  const { artifacts, tools, context } = await prepareParts(options, await planBuild(process.arch));
  const engine = await chooseEngine(artifacts, context);
  announcer.line(describeAcceleration(engine));
  if (engine.acceleration !== 'kvm') throw new Error('These suites need KVM. Run them with npm run test:kvm.');
  const templates = process.env.MAYFLY_KVM_SHORT
    ? ({ small: await ensureTemplate('small', engine, artifacts, context) } as Templates)
    : await ensureTemplates(engine, artifacts, context);
  project.provide('host', { engine, templates, tools, artifacts });
}
