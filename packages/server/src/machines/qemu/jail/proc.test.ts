import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, it } from 'vitest';
import { isSameProcess, parseProcessStat, parseUids, readProcessIdentity, uidsInUse } from './proc.ts';

function stat(name: string, state = 'S'): string {
  return `4711 (${name}) ${state} 1 4711 4711 0 -1 4194560 1 0 0 0 1 2 0 0 20 0 1 0 987654 2703360 192 18446744073709551615\n`;
}

it.each(['cat', 'a b', 'a) R 1 (b', '((', 'x) Z 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20'])(
  'reads the start time of a process with the name "%s"',
  (name) => {
    expect(parseProcessStat(stat(name))).toEqual({ state: 'S', startTicks: 987_654 });
  },
);

it.each(['', 'nothing', '1 (cat', '1 (cat) S 1 2 3', stat('cat').replace('987654', 'x')])('rejects %j', (text) => {
  expect(parseProcessStat(text)).toBeUndefined();
});

it('tells a process from a later one with the same pid', () => {
  const own = readProcessIdentity(process.pid);
  if (!own) throw new Error('no identity');
  expect(isSameProcess(own)).toBe(true);
  expect(isSameProcess({ ...own, startTicks: own.startTicks + 1 })).toBe(false);
  expect(isSameProcess({ ...own, bootId: 'an earlier boot' })).toBe(false);
});

it('does not find a process that has exited', async () => {
  const child = spawn('cat', { stdio: ['pipe', 'ignore', 'ignore'] });
  await once(child, 'spawn');
  const identity = readProcessIdentity(child.pid ?? 0);
  if (!identity) throw new Error('no identity');
  child.stdin.end();
  await once(child, 'exit');
  expect(isSameProcess(identity)).toBe(false);
});

it('reads all user ids of a process', () => {
  expect(parseUids('Name:\tx\nUid:\t1\t2\t3\t4\nGid:\t5\t5\t5\t5\n')).toEqual([1, 2, 3, 4]);
  expect(parseUids('')).toEqual([]);
  expect(uidsInUse()).toContain(process.getuid?.());
});
