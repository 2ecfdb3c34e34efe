import { expect, test } from 'vitest';
import { Attempts, TooManyAttempts } from './attempts.ts';

function attemptsAt(startMs = 0) {
  const clock = { ms: startMs, nowMs: () => clock.ms };
  return { clock, attempts: new Attempts(clock) };
}

/** How many of so many attempts are allowed. */
function allowed(count: number, begin: (index: number) => unknown): number {
  let made = 0;
  for (let index = 0; index < count; index++) {
    try {
      begin(index);
      made += 1;
    } catch (error) {
      expect(error).toBeInstanceOf(TooManyAttempts);
    }
  }
  return made;
}

test('ten failures with one e-mail address, whatever its case and wherever they come from', () => {
  const { attempts, clock } = attemptsAt();
  const begin = (index: number) => attempts.begin(`192.0.2.${index}`, index % 2 ? 'A@localhost' : 'a@LOCALHOST');
  expect(allowed(50, begin)).toBe(10);
  clock.ms += 15 * 60_000 - 1;
  expect(allowed(1, begin)).toBe(0);
  clock.ms += 1;
  expect(allowed(50, begin)).toBe(10);
});

test('thirty failures from one source address or one IPv6 customer, with whatever e-mail address', () => {
  const { attempts } = attemptsAt();
  expect(allowed(50, (index) => attempts.begin('192.0.2.1', `${index}@localhost`))).toBe(30);
  expect(allowed(50, (index) => attempts.begin(`2001:db8::${index}`, `${index}@localhost`))).toBe(30);
  expect(allowed(1, () => attempts.begin('2001:db8:0:1::1'))).toBe(1);
});

test('attempts that succeed do not count, but only from when they have', () => {
  const { attempts } = attemptsAt();
  expect(allowed(50, () => attempts.begin('192.0.2.1', 'a@localhost').succeeded())).toBe(50);
  const begun = Array.from({ length: 10 }, () => attempts.begin('192.0.2.1', 'a@localhost'));
  expect(allowed(1, () => attempts.begin('192.0.2.1', 'a@localhost'))).toBe(0);
  begun[0]?.succeeded();
  expect(allowed(5, () => attempts.begin('192.0.2.1', 'a@localhost'))).toBe(1);
});

test('attempts that were refused for an e-mail address use up nothing of the source address', () => {
  const { attempts } = attemptsAt();
  expect(allowed(100, () => attempts.begin('192.0.2.1', 'a@localhost'))).toBe(10);
  expect(allowed(100, () => attempts.begin('192.0.2.1'))).toBe(20);
});

test('a refusal says when the window ends', () => {
  const { attempts, clock } = attemptsAt(60_000);
  allowed(10, () => attempts.begin('192.0.2.1', 'a@localhost'));
  clock.ms += 500;
  try {
    attempts.begin('192.0.2.1', 'a@localhost');
    expect.unreachable();
  } catch (error) {
    expect(error).toMatchObject({ type: 'rate_limit_exceeded', status: 429 });
    expect((error as TooManyAttempts).counted.current().resetSeconds).toBe(14 * 60);
  }
});
