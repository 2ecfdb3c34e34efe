import { expect, test } from 'vitest';
import { legacyDropIn } from './legacy-firewall.ts';

test.each([
  ['nothing is listed', '', undefined],
  ['nothing drops', '-P INPUT DROP\n-P FORWARD ACCEPT\n', undefined],
  ['forwarded packets are dropped', '-P INPUT ACCEPT\n-P FORWARD DROP\n', '-I FORWARD -i mf+'],
  ['Docker drops them', '-P FORWARD DROP\n-N DOCKER-USER\n', '-I DOCKER-USER -i mf+'],
])('iptables-legacy: %s', (_, rules, remedy) => {
  expect(legacyDropIn(rules)?.remedy).toEqual(remedy === undefined ? undefined : expect.stringContaining(remedy));
});
