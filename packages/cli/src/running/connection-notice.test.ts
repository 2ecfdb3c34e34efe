import { ConnectionError } from '@mayfly/sdk';
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { explainLostConnection } from './attach.ts';
import { ConnectionNotice } from './connection-notice.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('says that the connection was lost and is back, unless that takes only a moment', () => {
  let stderr = '';
  using notice = new ConnectionNotice({ stderr: { write: (text) => (stderr += String(text)) } });
  notice.onConnection(false);
  vi.advanceTimersByTime(1_000);
  notice.onConnection(true);
  vi.advanceTimersByTime(10_000);
  expect(stderr).toBe('');
  notice.onConnection(false);
  vi.advanceTimersByTime(2_000);
  expect(stderr).toBe('The connection to the service was lost. Reconnecting.\n');
  notice.onConnection(true);
  expect(stderr).toMatch(/\nConnected again\.\n$/);
});

it('a connection that stays lost is explained without words of the SDK', () => {
  const lost = new ConnectionError('Attach to it with sandbox.command.', {
    mayHaveHappened: true,
    executionId: 'exec_1',
  });
  expect(() => explainLostConnection(undefined)(lost)).toThrow(
    /^The connection to the service was lost and could not be restored\.$/,
  );
  expect(() => explainLostConnection('exec_1')(lost)).toThrow(/may still be running\. .*: mayfly logs -f exec_1$/);
  const other = new ConnectionError('The connection to http://… failed.', { mayHaveHappened: true });
  expect(() => explainLostConnection(undefined)(other)).toThrow(other);
});
