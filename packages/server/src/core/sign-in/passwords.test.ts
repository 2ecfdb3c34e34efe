import { expect, test } from 'vitest';
import { Passwords } from './passwords.ts';

const cheap = { ln: 8, r: 8, p: 1 };

test('a password matches its hash, which holds the parameters and never the same salt', async () => {
  const passwords = new Passwords(cheap);
  const [first, second] = [await passwords.hash('correct horse'), await passwords.hash('correct horse')];
  expect(first).toMatch(/^\$scrypt\$ln=8,r=8,p=1\$[\w+/]{22}\$[\w+/]{43}$/);
  expect(first).not.toBe(second);
  expect(await passwords.verify('correct horse', first)).toBe(true);
  expect(await passwords.verify('Correct horse', first)).toBe(false);
  expect(await passwords.verify('', first)).toBe(false);
});

test('new passwords are hashed with the documented parameters, and hashes with others still match', async () => {
  const passwords = new Passwords();
  expect(await passwords.hash('x')).toMatch(/^\$scrypt\$ln=15,r=8,p=3\$/);
  expect(await passwords.verify('correct horse', await new Passwords(cheap).hash('correct horse'))).toBe(true);
});

test('a password is the same however its characters are composed', async () => {
  const passwords = new Passwords(cheap);
  expect(await passwords.verify('Zoe\u0308-pass-word', await passwords.hash('Zo\u00eb-pass-word'))).toBe(true);
});

test('nothing matches an account without a password, or a hash that is damaged', async () => {
  const passwords = new Passwords(cheap);
  for (const hash of [null, '', 'plain', '$scrypt$ln=8,r=8,p=1$$', '$scrypt$ln=8,r=8,p=1$AAAA$']) {
    expect(await passwords.verify('', hash)).toBe(false);
  }
});

test('of a crowd that signs in at once some are told to wait, and all others are served', async () => {
  const passwords = new Passwords(cheap);
  const ends = await Promise.allSettled(Array.from({ length: 100 }, () => passwords.verify('guess', null)));
  const refused = ends.flatMap((end) => (end.status === 'rejected' ? [end.reason as unknown] : []));
  expect(refused).toHaveLength(100 - 34);
  expect(refused[0]).toMatchObject({ type: 'rate_limit_exceeded', status: 429 });
  expect(await passwords.verify('guess', await passwords.hash('guess'))).toBe(true);
});
