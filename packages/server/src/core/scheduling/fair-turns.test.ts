import { expect, test } from 'vitest';
import { FairTurns } from './fair-turns.ts';

const nextTurn = () => new Promise(setImmediate);

test('a few run at once, the others in later turns, and each key has its turn', async () => {
  const turns = new FairTurns(2);
  const ran: string[] = [];
  const run = (key: string, name: string) => void (turns.next(key) ?? Promise.resolve()).then(() => ran.push(name));
  for (let at = 0; at < 6; at += 1) run('flood', `flood ${at}`);
  run('other', 'other');
  const perTurn: number[] = [];
  for (let before = 0; ran.length < 7; before = ran.length) {
    await nextTurn();
    perTurn.push(ran.length - before);
  }
  expect(Math.max(...perTurn)).toBeLessThanOrEqual(4);
  expect(ran.indexOf('other')).toBe(3);
  expect(ran.filter((name) => name !== 'other')).toEqual(Array.from({ length: 6 }, (_, at) => `flood ${at}`));
});

test('nobody waits while there is little to do', async () => {
  const turns = new FairTurns(2);
  for (let turn = 0; turn < 5; turn += 1) {
    expect([turns.next('a'), turns.next('a')]).toEqual([undefined, undefined]);
    await nextTurn();
    await nextTurn();
  }
});
