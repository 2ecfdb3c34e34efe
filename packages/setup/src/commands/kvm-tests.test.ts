import { describe, expect, it, vi } from 'vitest';
import { leavesOutService, testOnKvm } from './kvm-tests.ts';

it.each([
  ['an unknown option', ['--bogus'], '--bogus'],
  ['a time limit that is no number', ['--minutes', 'soon'], '--minutes must be a number of minutes, not "soon"'],
])('refuses %s and shows the usage', async (_, args, message) => {
  const write = vi.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    expect(await testOnKvm(args, new AbortController().signal)).toBe(2);
    const printed = write.mock.calls.map(([text]) => String(text)).join('');
    expect(printed).toContain(message);
    expect(printed).toContain('Usage: npm run test:kvm');
  } finally {
    write.mockRestore();
  }
});

describe('the suite of the service', () => {
  it.each([
    ['runs on arm64', 'arm64', true, [], false],
    ['is left out of the short form on x86_64', 'x64', true, [], true],
    ['is left out there if others are named', 'x64', true, ['test/machines/driver.test.ts', 'test/kvm'], true],
    ['runs there if it is named', 'x64', true, ['test/kvm/service.test.ts'], false],
    ['runs there if it is named by its path', 'x64', true, ['./test/kvm/service.test.ts'], false],
    ['runs there if it is named without its folder', 'x64', true, ['service.test.ts'], false],
    ['runs in the full form on x86_64', 'x64', false, [], false],
  ])('%s', (_, arch, short, files, isLeftOut) => {
    expect(leavesOutService(arch, { short, files })).toBe(isLeftOut);
  });
});
