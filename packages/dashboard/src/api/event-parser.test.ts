import { expect, test } from 'vitest';
import { EventParser } from './event-parser.ts';

const stream = [
  ': keep-alive',
  'id: 1\nevent: stats\ndata: {"cpu":1}',
  'event: stats\r\ndata: {"cpu":\r\ndata: 2}',
  'id: end\nevent: end\ndata: {"status":"deleted"}',
].map((event) => `${event}\n\n`);

const events = [
  { type: 'stats', data: { cpu: 1 }, id: '1' },
  { type: 'stats', data: { cpu: 2 }, id: '1' },
  { type: 'end', data: { status: 'deleted' }, id: 'end' },
];

test('events are the same in whatever pieces they arrive', () => {
  const text = stream.join('');
  expect(new EventParser().read(text)).toEqual(events);
  for (const length of [1, 2, 3, 7, 50]) {
    const parser = new EventParser();
    const read = [];
    for (let start = 0; start < text.length; start += length)
      read.push(...parser.read(text.slice(start, start + length)));
    expect(read).toEqual(events);
  }
});

test('an event without an id keeps the one that the reading began after', () => {
  expect(new EventParser('7').read('data: 1\n\n')).toEqual([{ type: 'message', data: 1, id: '7' }]);
});

test.each(['data: {"cut', 'event: stats', 'data', ': data'])('%j is no event', (text) => {
  expect(new EventParser().read(`${text}\n\ndata: 1\n\n`)).toEqual([{ type: 'message', data: 1, id: undefined }]);
});
