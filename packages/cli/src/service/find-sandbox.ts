import { type Mayfly, NotFoundError, type Sandbox } from '@mayfly/sdk';
import { Failure, usageFailure } from '../cli-io.ts';

const wholeId = /^sbx_[a-z0-9]{24}$/;
const shownMatches = 5;
/** Less than this of an id means a sandbox by chance only. */
export const leastPrefix = 3;

export interface FindOptions {
  /** Whether only a whole id or name counts. */
  readonly exact?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The sandbox that a user means: by its id, by its name, or unless `exact` by the beginning of its id (three characters or more), with or without
 * `sbx_`. Throws a Failure if there is none or more than one.
 */
export async function findSandbox(
  mayfly: Mayfly,
  text: string,
  { exact = false, signal }: FindOptions = {},
): Promise<Sandbox> {
  if (text === '') throw usageFailure('The id or name of the sandbox is empty.');
  if (wholeId.test(text)) {
    const found = await mayfly.sandboxes.get(text, { signal }).catch((error: unknown) => {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
    if (found) return found;
    throw noSandbox(text);
  }
  const sandboxes = await mayfly.sandboxes.list({ signal }).all();
  const named = sandboxes.filter(({ name }) => name === text);
  if (named.length > 0) return onlyOne(named, `are named ${JSON.stringify(text)}`, 'Use an id.');
  const beginning = text.replace(/^sbx_/, '');
  const hasEnough = beginning.length >= leastPrefix;
  const matches = hasEnough ? sandboxes.filter(({ id }) => id.startsWith(`sbx_${beginning}`)) : [];
  const [first] = matches;
  if (first !== undefined && !exact) {
    return onlyOne(matches, `have an id that begins with ${JSON.stringify(text)}`, 'Write more of it.');
  }
  if (first !== undefined) {
    throw new Failure(`This command needs the whole id or name of the sandbox. Did you mean ${first.id}?`);
  }
  const advice = hasEnough || exact ? '' : ` The beginning of an id needs at least ${leastPrefix} characters.`;
  throw noSandbox(JSON.stringify(text), advice);
}

function onlyOne(matches: readonly Sandbox[], likeness: string, advice: string): Sandbox {
  const [only, second] = matches;
  if (only !== undefined && second === undefined) return only;
  const shown = matches.slice(0, shownMatches).map(({ id }) => id);
  const more = matches.length > shownMatches ? ' …' : '';
  throw new Failure(`${matches.length} sandboxes ${likeness}: ${shown.join(', ')}${more}. ${advice}`);
}

function noSandbox(text: string, advice = ''): Failure {
  return new Failure(`There is no sandbox ${text}.${advice} List them with: mayfly ls`, { type: 'not_found' });
}
