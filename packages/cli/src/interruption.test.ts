import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type StubAccount, stubAccount } from '../test/stub-account.ts';
import { Failure } from './cli-io.ts';
import { finishOrDelete, untilAborted } from './interruption.ts';

describe('a signal during create', () => {
  let account: StubAccount;
  beforeEach(async () => {
    account = await stubAccount();
  });
  afterEach(() => account[Symbol.asyncDispose]());

  it.each([
    ['SIGINT', 130],
    ['SIGTERM', 143],
    ['SIGHUP', 129],
  ] as const)('%s ends it with %i and leaves no sandbox', async (name, code) => {
    const arrived = Promise.withResolvers<void>();
    const mayGoOn = Promise.withResolvers<void>();
    account.api.service.driver.beforeLaunched = async () => {
      arrived.resolve();
      await mayGoOn.promise;
    };
    const creating = account.run('create', '--json');
    await arrived.promise;
    // The second comes from the process that started this one, and is the same.
    process.emit(name);
    process.emit(name);
    mayGoOn.resolve();
    const { code: ended, stdout } = await creating;
    expect(ended).toBe(code);
    expect(JSON.parse(stdout)).toMatchObject({ error: { type: 'interrupted' } });
    await expect.poll(async () => (await account.json('ls')).data).toEqual([]);
  });
});

describe('finishOrDelete', () => {
  const interrupted = AbortSignal.abort(new Failure('Interrupted.', { exitCode: 143 }));
  const made = (ids: readonly string[]) =>
    ids.map((id) => ({
      id,
      delete: () => (id.startsWith('stuck') ? Promise.reject(new Error('no answer')) : Promise.resolve()),
    }));

  it('returns what was made unless the signal aborts', async () => {
    const signal = new AbortController().signal;
    expect(await finishOrDelete(Promise.resolve(['one']), signal, { made, command: 'mayfly rm' })).toEqual(['one']);
    const work = Promise.resolve(['one', 'two']);
    await expect(finishOrDelete(work, interrupted, { made, command: 'mayfly rm' })).rejects.toBe(interrupted.reason);
  });

  it('names what could not be deleted', async () => {
    const work = Promise.resolve(['one', 'stuck1', 'stuck2']);
    await expect(finishOrDelete(work, interrupted, { made, command: 'mayfly rm' })).rejects.toMatchObject({
      exitCode: 143,
      message:
        'Interrupted. stuck1, stuck2 could not be deleted: no answer. Delete what is left with: mayfly rm stuck1 stuck2',
    });
  });
});

it('untilAborted does not wait for work that hangs', async () => {
  const abort = new AbortController();
  const waiting = untilAborted(abort.signal, new Promise(() => {}));
  abort.abort(new Error('enough'));
  await expect(waiting).rejects.toThrow('enough');
  expect(await untilAborted(new AbortController().signal, Promise.resolve(3))).toBe(3);
});
