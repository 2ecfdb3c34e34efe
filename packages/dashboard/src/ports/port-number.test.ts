import { expect, test } from 'vitest';
import { portProblem, readPort } from './port-number.ts';

test.each([
  ['3000', 3000],
  [' 80 ', 80],
  ['65535', 65_535],
  ['1', 1],
])('%j is port %d', (text, port) => {
  expect([readPort(text), portProblem(text)]).toEqual([port, undefined]);
});

test.each(['', '0', '65536', '99999999', '-1', '3000.5', '1e3', '0x50', 'http', '３０００'])(
  '%j is no port',
  (text) => {
    expect(readPort(text)).toBeUndefined();
    expect(portProblem(text)).toBeDefined();
  },
);
