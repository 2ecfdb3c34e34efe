import type { TestProject } from 'vitest/node';
import { setup as prepareHost } from '../prepare.ts';
import { readGiven } from './given.ts';

/** Before the suite: the set-up that npm start does, unless somebody's service is looked at. */
export const setup = async (project: TestProject): Promise<void> => {
  if (readGiven().baseUrl === undefined) await prepareHost(project);
};
