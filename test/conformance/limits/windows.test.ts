import { describe, expect, it } from 'vitest';
import { type Answer, type Api, expectError, expectStatus } from '../../support/conformance/api.ts';
import { eventually } from '../../support/conformance/eventually.ts';
import { isGiven } from '../../support/conformance/given.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject();
// A given service has one main account whose window all tests share; accounts of one's own do not disturb each other.
const suite = isGiven ? describe.sequential : describe.concurrent;

const header = (answer: Answer<unknown>, name: string): number => Number(answer.headers[name]);
const reset = (answer: Answer<unknown>): number => header(answer, 'ratelimit-reset');

/** Calls once, in a window that lasts long enough to be used up. */
const inFreshWindow = async (call: () => Promise<Answer<unknown>>, remaining: number): Promise<Answer<unknown>> =>
  await eventually(
    async () => {
      const answer = await call();
      expect(reset(answer), 'the window ends soon').toBeGreaterThan(20);
      expect(header(answer, 'ratelimit-remaining'), 'the window is used').toBe(remaining);
      return answer;
    },
    130_000,
    2_000,
  );

/** Waits until the window that refused a call is over. */
const pass = async (refused: Answer<unknown>): Promise<void> => {
  const endMs = Date.now() + (header(refused, 'retry-after') + 1) * 1000;
  await eventually(async () => expect(Date.now()).toBeGreaterThan(endMs), 70_000);
};

const expectRefusal = (answer: Answer<unknown>, limit: number): void => {
  expectError(answer, 429, 'rate_limit_exceeded');
  expect(header(answer, 'ratelimit-limit')).toBe(limit);
  expect(header(answer, 'ratelimit-remaining')).toBe(0);
  expect(reset(answer)).toBeGreaterThan(0);
  expect(header(answer, 'retry-after')).toBeGreaterThan(0);
  expect(header(answer, 'retry-after')).toBeLessThanOrEqual(60);
};

suite('windows of 60 seconds', () => {
  it('120 requests per minute per account: the 121st is 429 rate_limit_exceeded, for every key of it', async (context) => {
    const api = await subject.quietAccount();
    const call = (by: Api = api) => by.get('/account', { paced: false });
    const first = await inFreshWindow(call, 119);
    expect(header(first, 'ratelimit-limit')).toBe(120);
    const answers: Answer<unknown>[] = [];
    // Unknown paths and refused requests are requests, too.
    answers.push(await api.get('/no/such/path', { paced: false }));
    answers.push(await api.post('/sandboxes', { size: 'huge' }, { paced: false }));
    answers.push(await api.post('/sandboxes', undefined, { raw: '{', paced: false }));
    while (answers.length < 119) answers.push(await call());
    expect(answers.map((answer) => header(answer, 'ratelimit-remaining'))).toEqual(answers.map((_, at) => 118 - at));
    const refused = await call();
    expectRefusal(refused, 120);
    expectRefusal(await api.post('/sandboxes', {}, { paced: false }), 120);
    expectRefusal(await api.get('/no/such/path', { paced: false }), 120);
    if (!isGiven) expectRefusal(await call(await subject.siblingOf(context, api)), 120);
    await pass(refused);
    const after = await call();
    expectStatus(after, 200);
    expect(header(after, 'ratelimit-remaining')).toBeGreaterThanOrEqual(100);
  }, 300_000);

  it('all requests at the same moment: no more than 120 of them are served', async () => {
    const api = await subject.quietAccount();
    await inFreshWindow(() => api.get('/account', { paced: false }), 119);
    const answers = await Promise.all(Array.from({ length: 150 }, () => api.get('/account', { paced: false })));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(119);
    const [refused, ...others] = answers.filter(({ status }) => status !== 200);
    for (const answer of others) expectError(answer, 429, 'rate_limit_exceeded');
    if (refused) await pass(refused);
  }, 300_000);

  it('40 creations per minute per account, in addition; also those that are refused for their body', async () => {
    const api = await subject.quietAccount();
    const call = () => api.post('/sandboxes', { size: 'huge' }, { paced: false });
    const answers: Answer<unknown>[] = [];
    await inFreshWindow(() => api.get('/account', { paced: false }), 119);
    while (answers.length < 40) answers.push(await call());
    for (const answer of answers) expectError(answer, 400, 'invalid_request');
    const refused = await call();
    expectRefusal(refused, 40);
    // Everything else goes on; the headers are those of the general window again.
    const other = await api.get('/sandboxes', { paced: false });
    expectStatus(other, 200);
    expect(header(other, 'ratelimit-limit')).toBe(120);
    expect(header(other, 'ratelimit-remaining')).toBe(120 - 1 - 40 - 1 - 1);
    await pass(refused);
    expectError(await call(), 400, 'invalid_request');
  }, 300_000);

  it('300 requests per minute per source IP, counted before key verification', async () => {
    const api = await subject.quietAccount();
    const call = () => api.get('/account', { authorization: null, paced: false });
    const first = await eventually(
      async () => {
        const answer = await call();
        expect(reset(answer), 'the window ends soon').toBeGreaterThan(30);
        return answer;
      },
      130_000,
      2_000,
    );
    expect(header(first, 'ratelimit-limit')).toBe(300);
    let left = header(first, 'ratelimit-remaining');
    for (; left > 0; left -= 1) {
      const answer = await call();
      expectError(answer, 401, 'unauthorized');
      expect(header(answer, 'ratelimit-remaining')).toBe(left - 1);
    }
    const refused = await call();
    expectRefusal(refused, 300);
    // A valid key does not help, an invalid one is not looked at.
    expectRefusal(await api.get('/account', { paced: false }), 300);
    expectRefusal(await api.get('/account', { authorization: 'Bearer mf_unknown', paced: false }), 300);
    await pass(refused);
    expectStatus(await api.get('/account'), 200);
  }, 300_000);

  it("a request that is refused before its key counts for nobody's account", async () => {
    const api = await subject.quietAccount();
    const before = await inFreshWindow(() => api.get('/account', { paced: false }), 119);
    for (const authorization of [null, 'Bearer mf_unknown', 'Basic x']) await api.get('/account', { authorization });
    const after = await api.get('/account');
    expect(header(after, 'ratelimit-remaining')).toBe(header(before, 'ratelimit-remaining') - 1);
  }, 200_000);
});
