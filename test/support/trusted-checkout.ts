import { beforeEach } from 'vitest';
import { describeUntrusted, trustedIds } from '#server/app/trusted-folder.ts';
import { repositoryRoot } from './markdown.ts';

/** Skips the tests of a file where `npm start` refuses the checkout because others can change it, for example in a container with a developer's folder. */
export function needsTrustedCheckout(): void {
  const problem = describeUntrusted(repositoryRoot, trustedIds(process.env));
  beforeEach(({ skip }) => skip(problem !== undefined, `npm start refuses this checkout: ${problem}`));
}
