import { expect, test } from 'vitest';
import { createBudgets } from './budgets.ts';
import { HeldBody } from './held-body.ts';

const mebibyte = 1024 ** 2;
const refusal = { type: 'rate_limit_exceeded', status: 429 };

function budgetsOf(perAccount: number) {
  return createBudgets({
    bodyBytes: { perAccount, total: 2 * perAccount, waitingPerAccount: 10 },
    uploads: { perAccount: 3, total: 10, waitingPerAccount: 0 },
  });
}

test('a large body holds its whole size, shrinks to what arrived, and gives everything back once', async () => {
  const budgets = budgetsOf(10 * mebibyte);
  using held = new HeldBody(budgets, 'a');
  await held.admit(6 * mebibyte);
  expect([budgets.bodyBytes.held, budgets.uploads.held]).toEqual([6 * mebibyte, 1]);
  held.shrinkTo(mebibyte);
  expect(budgets.bodyBytes.held).toBe(mebibyte);
  held[Symbol.dispose]();
  held[Symbol.dispose]();
  expect([budgets.bodyBytes.held, budgets.uploads.held]).toEqual([0, 0]);
});

test('a small body is not counted', async () => {
  const budgets = budgetsOf(10 * mebibyte);
  using held = new HeldBody(budgets, 'a');
  await held.admit(32_768);
  expect([budgets.bodyBytes.held, budgets.uploads.held]).toEqual([0, 0]);
});

test('a body that is larger than the share of an account is admitted when the account holds nothing else', async () => {
  const budgets = budgetsOf(mebibyte);
  using held = new HeldBody(budgets, 'a');
  await held.admit(50 * mebibyte);
  expect(budgets.bodyBytes.held).toBe(mebibyte);
});

test('a body waits for room, and one whose sender is gone leaves the line', async () => {
  const budgets = budgetsOf(mebibyte);
  const [first, gone, next] = [new HeldBody(budgets, 'a'), new HeldBody(budgets, 'a'), new HeldBody(budgets, 'a')];
  await first.admit(mebibyte);
  const leaving = gone.admit(mebibyte).catch(() => 'left');
  const waiting = next.admit(mebibyte);
  expect(budgets.bodyBytes.waiting).toBe(2);
  gone[Symbol.dispose]();
  expect(await leaving).toBe('left');
  expect([budgets.bodyBytes.waiting, budgets.uploads.held]).toEqual([1, 2]);
  first[Symbol.dispose]();
  await waiting;
  expect(budgets.bodyBytes.held).toBe(mebibyte);
  next[Symbol.dispose]();
  expect([budgets.bodyBytes.held, budgets.uploads.held]).toEqual([0, 0]);
});

test('more uploads of an account than it may have open are refused, and the uploads of others are not', async () => {
  const budgets = budgetsOf(10 * mebibyte);
  const open = Array.from({ length: 3 }, () => new HeldBody(budgets, 'a'));
  for (const held of open) await held.admit(mebibyte);
  await expect(new HeldBody(budgets, 'a').admit(mebibyte)).rejects.toMatchObject(refusal);
  using other = new HeldBody(budgets, 'b');
  await other.admit(mebibyte);
  for (const held of open) held[Symbol.dispose]();
});

test('a body waits while other accounts hold all memory for bodies', async () => {
  const budgets = budgetsOf(mebibyte);
  const [first, second, third] = [new HeldBody(budgets, 'a'), new HeldBody(budgets, 'b'), new HeldBody(budgets, 'c')];
  await first.admit(mebibyte);
  await second.admit(mebibyte);
  const waiting = third.admit(mebibyte);
  expect([budgets.bodyBytes.held, budgets.bodyBytes.waiting]).toEqual([2 * mebibyte, 1]);
  first[Symbol.dispose]();
  await waiting;
  expect(budgets.bodyBytes.heldBy('c')).toBe(mebibyte);
});
