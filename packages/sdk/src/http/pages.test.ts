import { describe, expect, it } from 'vitest';
import { Mayfly, UnexpectedResponseError } from '../index.ts';

const clientOf = (respond: () => Response) =>
  new Mayfly({ apiKey: 'mf_x', baseUrl: 'http://a.example', fetch: async () => respond(), maxRetries: 0 });

describe('a list', () => {
  it.each([
    ['no content', () => new Response(null, { status: 204 })],
    ['an object without data', () => Response.json({})],
    ['null', () => Response.json(null)],
    ['data that is not a list', () => Response.json({ object: 'list', data: {} })],
  ])('that is %s is not one of Mayfly', async (_what, respond) => {
    const listing = clientOf(respond).sandboxes.list().all();
    await expect(listing).rejects.toThrow(UnexpectedResponseError);
    await expect(listing).rejects.toThrow('The response is not a list of Mayfly. Check the base URL.');
  });

  it('ends with the page that has no next one', async () => {
    const snapshot = { object: 'snapshot', id: 'snap_1' };
    const pages = [
      { object: 'list', data: [snapshot], has_more: true, next_cursor: 'snap_1' },
      { object: 'list', data: [{ ...snapshot, id: 'snap_2' }], has_more: false, next_cursor: null },
    ];
    const all = await clientOf(() => Response.json(pages.shift()))
      .snapshots.list()
      .all();
    expect(all.map(({ id }) => id)).toEqual(['snap_1', 'snap_2']);
  });
});
