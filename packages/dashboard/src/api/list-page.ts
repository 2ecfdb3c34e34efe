import { RequestFailure } from './failure.ts';
import { request } from './request.ts';

interface ListPageOptions {
  readonly limit: number;
  /** The `next_cursor` of the page before; null for the first page. */
  readonly cursor: string | null;
  readonly parameters?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Returns one page of a list. Where the operator allows only smaller pages than `limit`, it has the service's own size. */
export async function listPage<List>(path: string, options: ListPageOptions): Promise<List> {
  const { limit, signal } = options;
  try {
    return await request<List>(`${path}?${queryOf(options, limit)}`, { signal });
  } catch (error) {
    if (!(error instanceof RequestFailure) || error.type !== 'invalid_request') throw error;
    return request<List>(`${path}?${queryOf(options, undefined)}`, { signal });
  }
}

function queryOf({ cursor, parameters }: ListPageOptions, limit: number | undefined): string {
  const query = new URLSearchParams(parameters);
  if (limit !== undefined) query.set('limit', `${limit}`);
  if (cursor !== null) query.set('starting_after', cursor);
  return query.toString();
}
