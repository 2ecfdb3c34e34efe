import { fixedLimits } from '@mayfly/contract';
import { beforeEach, expect, test } from 'vitest';
import { StubClock } from '../../../test/app/stub-service.ts';
import { Tickets } from './tickets.ts';

const { ticketsPerAccount, ticketSeconds } = fixedLimits;
const lifeMs = ticketSeconds * 1_000;

let clock: StubClock;
let tickets: Tickets;
beforeEach(() => {
  clock = new StubClock();
  tickets = new Tickets(clock);
});

test('a ticket leads to the hash of its key, once', () => {
  const { ticket } = tickets.create('acct_1', 'hash of the key');
  expect(ticket).toMatch(/^tkt_[\w-]{43}$/);
  expect(tickets.redeem(ticket)).toBe('hash of the key');
  expect(tickets.redeem(ticket)).toBeUndefined();
});

test.each(['', 'tkt_', 'x'.repeat(10_000), '\0', '__proto__'])('%j is no ticket', (ticket) => {
  tickets.create('acct_1', 'hash');
  expect(tickets.redeem(ticket)).toBeUndefined();
});

test('tickets differ, and a ticket with another case or end is unknown', () => {
  const all = Array.from({ length: ticketsPerAccount }, () => tickets.create('acct_1', 'hash').ticket);
  expect(new Set(all).size).toBe(ticketsPerAccount);
  for (const ticket of all) {
    expect(tickets.redeem(`${ticket} `)).toBeUndefined();
    expect(tickets.redeem(ticket.toUpperCase())).toBeUndefined();
    expect(tickets.redeem(ticket)).toBe('hash');
  }
});

test('a ticket works to the last millisecond of its minute', () => {
  const [first, second] = [tickets.create('acct_1', 'first'), tickets.create('acct_1', 'second')];
  expect(first.expiresAtMs).toBe(clock.nowMs() + lifeMs);
  clock.advanceMs(lifeMs - 1);
  expect(tickets.redeem(first.ticket)).toBe('first');
  clock.advanceMs(1);
  expect(tickets.redeem(second.ticket)).toBeUndefined();
});

test('a clock that was set back does not prolong the life of a ticket that is behind others', () => {
  const first = tickets.create('acct_1', 'first');
  clock.advanceMs(-30_000);
  const second = tickets.create('acct_1', 'second');
  clock.advanceMs(lifeMs);
  expect(tickets.redeem(second.ticket)).toBeUndefined();
  expect(tickets.redeem(first.ticket)).toBe('first');
});

test('unused tickets are limited per account; using them and their expiry make room', () => {
  const fill = () => Array.from({ length: ticketsPerAccount }, () => tickets.create('acct_1', 'hash').ticket);
  const refusal = expect.objectContaining({ type: 'rate_limit_exceeded', status: 429 });
  const [first = ''] = fill();
  expect(() => tickets.create('acct_1', 'other key')).toThrow(refusal);
  expect(tickets.redeem(tickets.create('acct_2', 'hash').ticket), 'another account').toBe('hash');
  tickets.redeem(first);
  tickets.create('acct_1', 'hash');
  expect(() => tickets.create('acct_1', 'hash')).toThrow(refusal);
  clock.advanceMs(lifeMs);
  fill();
  expect(() => tickets.create('acct_1', 'hash')).toThrow(refusal);
});
