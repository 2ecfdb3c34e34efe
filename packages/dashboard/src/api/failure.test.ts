import { expect, test } from 'vitest';
import { describeWait, failureOf, isSignedOut, RequestFailure } from './failure.ts';

const none = new Headers();

test('the message of the service is shown with its request id', () => {
  const body = { error: { type: 'quota_exceeded', message: 'Revoke a key first.' }, request_id: 'req_1' };
  const failure = failureOf(429, none, body);
  expect(failure).toMatchObject({ type: 'quota_exceeded', message: 'Revoke a key first.', requestId: 'req_1' });
  expect(failure.isConnection).toBe(false);
});

test('a wait that the service asks for is in the message', () => {
  const body = { error: { type: 'rate_limit_exceeded', message: 'Rate limit exceeded.' }, request_id: 'req_1' };
  expect(failureOf(429, new Headers({ 'retry-after': '840' }), body).message).toBe(
    'Too many attempts. Try again in 14 minutes.',
  );
});

test('an end of the session is recognised, wrong credentials are not one', () => {
  const of = (type: string) => failureOf(401, none, { error: { type, message: 'No.' }, request_id: 'req_1' });
  expect(isSignedOut(of('unauthorized'))).toBe(true);
  expect(isSignedOut(of('wrong_credentials'))).toBe(false);
  expect(isSignedOut(new Error('unauthorized'))).toBe(false);
});

test.each([
  ['a page of a proxy', undefined],
  ['null', null],
  ['another JSON', { error: 'no' }],
])('an answer that is %s says its status', (_, body) => {
  const failure = failureOf(502, new Headers({ 'x-request-id': 'req_2' }), body);
  expect(failure).toMatchObject({ type: 'unreadable_answer', status: 502, requestId: 'req_2', isConnection: true });
  expect(failure.message).toContain('502');
});

test('a lost connection is not a failure of the service', () => {
  expect(new RequestFailure('timed_out', 'No answer.').isConnection).toBe(true);
  expect(failureOf(500, none, undefined).isConnection).toBe(false);
});

test('waits are in the unit that one would say', () => {
  expect([1, 20, 90, 100, 900].map(describeWait)).toEqual([
    '1 second',
    '20 seconds',
    '90 seconds',
    '2 minutes',
    '15 minutes',
  ]);
});
