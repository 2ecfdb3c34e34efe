import { fromApi } from '../api/casing.ts';
import { UnexpectedResponseError } from '../errors.ts';
import type { Call, Connection } from './connection.ts';
import { type Answer, requestJson } from './request.ts';

interface Page<Item> {
  readonly data: readonly Item[];
  readonly hasMore: boolean;
  readonly nextCursor: string | Date | null;
}

/** A list that is fetched page by page while it is iterated over. */
export class Listing<Item> implements AsyncIterable<Item> {
  readonly #pages: () => AsyncGenerator<readonly Item[], void>;

  constructor(pages: () => AsyncGenerator<readonly Item[], void>) {
    this.#pages = pages;
  }

  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void> {
    for await (const items of this.#pages()) yield* items;
  }

  /** All items in one array. */
  async all(): Promise<Item[]> {
    const items: Item[] = [];
    for await (const item of this) items.push(item);
    return items;
  }
}

/** Lists what an operation returns in pages. */
export function listing<Resource, Item>(
  connection: Connection,
  call: Omit<Call, 'method' | 'repeatable'>,
  toItem: (resource: Resource) => Item,
): Listing<Item> {
  return new Listing(async function* () {
    for (let cursor: string | undefined; ; ) {
      const query = { limit: 100, ...call.query, starting_after: cursor };
      const page = pageOf<Resource>(await requestJson(connection, { ...call, method: 'GET', query, repeatable: true }));
      yield page.data.map(toItem);
      if (!page.hasMore || page.nextCursor === null) return;
      cursor = page.nextCursor instanceof Date ? page.nextCursor.toISOString() : page.nextCursor;
    }
  });
}

/** The page that a response holds. Throws an UnexpectedResponseError if it holds none, such as the response of another service. */
function pageOf<Resource>({ status, body }: Answer): Page<Resource> {
  const page = fromApi(body) as Partial<Page<Resource>> | null | undefined;
  if (!Array.isArray(page?.data)) {
    throw new UnexpectedResponseError('The response is not a list of Mayfly. Check the base URL.', status);
  }
  return { data: page.data, hasMore: page.hasMore === true, nextCursor: page.nextCursor ?? null };
}
