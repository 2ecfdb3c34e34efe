import { expect, test } from 'vitest';
import { hostFacts } from '../../test/host-facts.ts';
import { formatFindings, type HostReport, judge } from './doctor.ts';

const good: HostReport = {
  facts: hostFacts(),
  problems: [],
  unsupported: [],
  kvm: 'usable',
  isPrepared: true,
  service: { url: 'http://127.0.0.1:8080', answers: true },
};
const states = (report: Partial<HostReport>) => judge({ ...good, ...report }).map(({ state }) => state);

test('a good host is all right, in a few lines', () => {
  expect(formatFindings(judge(good))).toBe(
    [
      '✓ all programs that Mayfly uses are installed',
      '✓ KVM is usable',
      '✓ guest image and templates are built',
      '✓ the service at http://127.0.0.1:8080 is ready',
      '✓ Debian GNU/Linux 12 (bookworm), linux on arm64',
      '✓ 20.0 GiB of 24.0 GiB of memory available, 100.0 GiB of disk free',
      '',
    ].join('\n'),
  );
});

test('what is lacking comes first, with what to do', () => {
  const problems = [{ need: '4 GiB of memory (this machine has 2 GiB)', remedy: 'Use a larger machine.' }];
  const unsupported = [{ what: 'There is no /dev/net/tun', remedy: 'Load the module tun.' }];
  const text = formatFindings(judge({ ...good, problems, unsupported, kvm: 'missing' }));
  expect(text).toMatch(
    /^✗ needs 4 GiB of memory .*\n {4}Use a larger machine\.\n✗ There is no \/dev\/net\/tun\n {4}Load/,
  );
  expect(text).toMatch(/! there is no KVM.*\n {4}Use a machine with virtualization/);
});

test('what npm start does by itself keeps nobody from running', () => {
  const fresh = states({
    facts: hostFacts({ without: ['nft'] }),
    isPrepared: false,
    service: { url: 'http://127.0.0.1:8080', answers: false },
  });
  expect(fresh).not.toContain('lacking');
  expect(fresh.filter((state) => state === 'could be better')).toHaveLength(3);
});
