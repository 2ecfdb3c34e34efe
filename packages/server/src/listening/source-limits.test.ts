import { EventEmitter } from 'node:events';
import { describe, expect, test } from 'vitest';
import { SourceLimits } from './source-limits.ts';

const limits = { connectionsPerSource: 3, newConnectionsBurst: 4, newConnectionsPerSecond: 2 };

function connection(remoteAddress: string) {
  return Object.assign(new EventEmitter(), { remoteAddress });
}

/** A different address for each number. */
const addressOf = (at: number) => `10.${at >> 16}.${(at >> 8) & 255}.${at & 255}`;

describe('connections of one source address', () => {
  test('are limited in number; others are admitted', () => {
    const sources = new SourceLimits(limits, () => 0);
    const open = Array.from({ length: 3 }, () => connection('198.51.100.1'));
    expect(open.map((one) => sources.admit(one))).toEqual([true, true, true]);
    expect(sources.admit(connection('::ffff:198.51.100.1'))).toBe(false);
    expect(sources.admit(connection('198.51.100.2'))).toBe(true);
    open[0]?.emit('close');
    expect(sources.admit(connection('198.51.100.1'))).toBe(true);
  });

  test('are limited in how many are opened per second', () => {
    let nowMs = 0;
    const sources = new SourceLimits(limits, () => nowMs);
    const openAndClose = () => {
      const one = connection('2001:db8::1');
      const admitted = sources.admit(one);
      one.emit('close');
      return admitted;
    };
    expect(Array.from({ length: 5 }, openAndClose)).toEqual([true, true, true, true, false]);
    nowMs = 500;
    expect([openAndClose(), openAndClose()]).toEqual([true, false]);
    nowMs = 60_000;
    expect(Array.from({ length: 5 }, openAndClose)).toEqual([true, true, true, true, false]);
  });

  test('are counted for any number of addresses', () => {
    const sources = new SourceLimits(limits, () => 0);
    for (let at = 0; at < 100_100; at += 1) expect(sources.admit(connection(addressOf(at)))).toBe(true);
  });

  test('stay counted while they are open, however many other addresses come and go', () => {
    const sources = new SourceLimits({ ...limits, newConnectionsBurst: 100 }, () => 0);
    for (let at = 0; at < 3; at += 1) sources.admit(connection('198.51.100.1'));
    for (let at = 0; at < 100_100; at += 1) {
      const other = connection(addressOf(at));
      sources.admit(other);
      other.emit('close');
    }
    expect(sources.admit(connection('198.51.100.1'))).toBe(false);
  });
});
