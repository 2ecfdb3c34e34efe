import type { Call, Connection } from './connection.ts';
import { request } from './request.ts';

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
    for await (const page of this.#pages()) items.push(...page);
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
      const page: Page<Resource> = await request(connection, { ...call, method: 'GET', query, repeatable: true });
      yield page.data.map(toItem);
      if (!page.hasMore || page.nextCursor === null) return;
      cursor = page.nextCursor instanceof Date ? page.nextCursor.toISOString() : page.nextCursor;
    }
  });
}
