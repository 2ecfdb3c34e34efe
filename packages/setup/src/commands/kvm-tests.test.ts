import { expect, it, vi } from 'vitest';
import { testOnKvm } from './kvm-tests.ts';

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
