import { type Mayfly, NotFoundError, type Sandbox } from '@mayfly/sdk';
import { Failure } from '../cli-io.ts';

const wholeId = /^sbx_[a-z0-9]{24}$/;
const shownMatches = 5;

export interface FindOptions {
  /** Whether only a whole id or name counts. */
  readonly exact?: boolean;
  readonly signal?: AbortSignal | undefined;
}

/**
 * The sandbox that a user means: by its id, by its name, or unless `exact` by the beginning of its id, with or without `sbx_`. Throws a Failure
 * if there is none or more than one.
 */
export async function findSandbox(
  mayfly: Mayfly,
  text: string,
  { exact = false, signal }: FindOptions = {},
): Promise<Sandbox> {
  if (wholeId.test(text)) {
    const found = await mayfly.sandboxes.get(text, { signal }).catch((error: unknown) => {
      if (error instanceof NotFoundError) return undefined;
      throw error;
    });
    if (found) return found;
    throw noSandbox(text);
  }
  const sandboxes = await mayfly.sandboxes.list({ signal }).all();
  const matches = sandboxes.filter(({ name }) => name === text);
  const prefix = text.startsWith('sbx_') ? text : `sbx_${text}`;
  const byPrefix = sandboxes.filter(({ id }) => id.startsWith(prefix));
  if (matches.length === 0 && !exact) matches.push(...byPrefix);
  const [only, second] = matches;
  if (only !== undefined && second === undefined) return only;
  if (only !== undefined) {
    const shown = matches.slice(0, shownMatches).map(({ id }) => id);
    const more = matches.length > shownMatches ? ' …' : '';
    throw new Failure(
      `${JSON.stringify(text)} means ${matches.length} sandboxes (${shown.join(', ')}${more}). Write more of the id.`,
    );
  }
  if (exact && byPrefix.length > 0) {
    throw new Failure(
      `${JSON.stringify(text)} is not a whole id or name. What destroys a sandbox needs all of it: ${byPrefix[0]?.id}`,
    );
  }
  throw noSandbox(JSON.stringify(text));
}

function noSandbox(text: string): Failure {
  return new Failure(`There is no sandbox ${text}. List them with: mayfly ls`, { type: 'not_found' });
}
