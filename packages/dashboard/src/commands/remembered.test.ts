import { expect, test } from 'vitest';
import { readCommands } from './remembered.ts';

test('what is stored is read, and nothing else', () => {
  const command = { id: 'exec_1', command: 'make' };
  expect(readCommands(JSON.stringify([command]))).toEqual([command]);
  expect(readCommands(JSON.stringify([command, null, { id: 1, command: 'x' }, 'make']))).toEqual([command]);
  expect(readCommands('{"id":"exec_1"}')).toEqual([]);
  expect(readCommands(null)).toEqual([]);
});
