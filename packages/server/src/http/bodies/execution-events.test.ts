import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { LiveEvent } from '../../core/executions/live/follow.ts';
import { executionEventTexts, OutputText } from './execution-events.ts';

const output = (kind: 'stdout' | 'stderr', bytes: Uint8Array, position: number) => ({ kind, bytes, position });

/** The data of events, with its position. */
function parse(text: string): { id: string; event: string; data: { data: string; encoding?: string } }[] {
  const blocks = text.split('\n\n').filter((block) => block !== '');
  return blocks.map((block) => {
    const [id = '', event = '', data = ''] = block.split('\n').map((line) => line.replace(/^\w+: /, ''));
    return { id, event, data: JSON.parse(data) };
  });
}

test('text that is cut anywhere arrives as text, at the right positions', () => {
  const bytes = Buffer.from('grüße, 世界, 🦋!\n'.repeat(3));
  for (let size = 1; size <= 7; size += 1) {
    const texts = new OutputText();
    let written = '';
    for (let at = 0; at < bytes.length; at += size) {
      const piece = bytes.subarray(at, at + size);
      written += texts.push(output('stdout', piece, at + piece.length));
    }
    const events = parse(written + texts.flush());
    expect(events.map(({ data }) => data.data).join('')).toBe(bytes.toString());
    expect(events.every(({ data }) => data.encoding === undefined)).toBe(true);
    let position = 0;
    for (const { id, data } of events) {
      position += Buffer.byteLength(data.data);
      expect(Number(id)).toBe(position);
    }
  }
});

test('bytes that are not UTF-8 are sent in base64, and nothing is lost around them', () => {
  const bytes = Buffer.from([0x61, 0xff, 0xfe, 0xc3, 0x28, 0xe4, 0xb8]);
  const texts = new OutputText();
  const events = parse(texts.push(output('stderr', bytes, 7)) + texts.flush());
  const all = events.map(({ data }) => Buffer.from(data.data, data.encoding === 'base64' ? 'base64' : 'utf8'));
  expect(Buffer.concat(all)).toEqual(bytes);
  expect(events[0]?.data.encoding).toBe('base64');
});

test('a character that stays incomplete is sent before the other stream goes on', () => {
  const texts = new OutputText();
  const first = texts.push(output('stdout', Buffer.from([0x61, 0xe4]), 2));
  expect(parse(first)).toMatchObject([{ id: '1', event: 'stdout', data: { data: 'a' } }]);
  expect(texts.isHolding).toBe(true);
  expect(parse(texts.push(output('stderr', Buffer.from('b'), 3)))).toMatchObject([
    { id: '2', event: 'stdout', data: { data: '5A==', encoding: 'base64' } },
    { id: '3', event: 'stderr', data: { data: 'b' } },
  ]);
  expect(texts.isHolding).toBe(false);
});

test('a silent stream is kept alive with comments, and the last event ends it', async () => {
  async function* events(): AsyncGenerator<LiveEvent, void> {
    yield { kind: 'start' };
    await wait(100);
    yield { kind: 'stdout', bytes: Buffer.from([0xc3]), position: 1 };
    await wait(100);
    yield { kind: 'gap', lostBytes: 5, position: 6 };
  }
  const options = { executionId: 'exec_1', exitJson: () => '{}', silenceMs: 5, characterMs: 5 };
  const texts: string[] = [];
  for await (const text of executionEventTexts(events(), options)) texts.push(text);
  expect(texts.filter((text) => text.startsWith(':')).length).toBeGreaterThan(1);
  expect(texts.filter((text) => !text.startsWith(':'))).toEqual([
    'id: 0\nevent: start\ndata: {"id":"exec_1"}\n\n',
    'id: 1\nevent: stdout\ndata: {"data":"ww==","encoding":"base64"}\n\n',
    'id: 6\nevent: gap\ndata: {"bytes":5}\n\n',
  ]);
});
