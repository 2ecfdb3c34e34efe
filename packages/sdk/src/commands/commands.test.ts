import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { resultOf, type StubApi, stubApi } from '../../test/stub-api.ts';
import { CommandFailedError, type ExecOptions, type Mayfly, MayflyError, type Sandbox } from '../index.ts';

let api: StubApi;
let mayfly: Mayfly;
let sandbox: Sandbox;
beforeAll(async () => {
  api = await stubApi();
  mayfly = api.client();
  sandbox = await mayfly.sandboxes.create();
});
afterAll(() => api[Symbol.asyncDispose]());
beforeEach(() => {
  api.live.commands.clear();
  api.live.onStart = (command) => command.end(resultOf());
});

afterEach(() => {
  for (const command of api.live.commands.values()) command.end(resultOf());
});

const only = () => {
  const [command] = api.live.commands.values();
  if (command === undefined) throw new Error('no command was started');
  return command;
};

describe('exec', () => {
  it('returns how the command ended, with its output', async () => {
    api.live.onStart = (command) => {
      command.print('stdout', 'out\n');
      command.print('stderr', 'err\n');
      command.end(resultOf({ exitCode: 3, stdout: Buffer.from('out\n'), stderr: Buffer.from('err\n'), durationMs: 5 }));
    };
    const result = await sandbox.exec('make', { cwd: '/tmp', env: { CI: 'true' }, timeoutMs: 5_000 });
    expect(result).toMatchObject({ exitCode: 3, ok: false, stdout: 'out\n', stderr: 'err\n', status: 'completed' });
    expect(result.execution).toMatchObject({ sandboxId: sandbox.id, startedAt: expect.any(Date) });
    expect(only().request).toMatchObject({ command: 'make', cwd: '/tmp', env: { CI: 'true' }, timeoutMs: 5_000 });
  });

  it('throws for a command that fails only if asked to', async () => {
    api.live.onStart = (command) => command.end(resultOf({ exitCode: 2, stderr: Buffer.from('a\nno such file\n') }));
    const error = await sandbox
      .exec('make')
      .orThrow()
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(CommandFailedError);
    expect((error as Error).message).toBe('The command exited with 2: no such file');
    const result = await sandbox.exec('make');
    expect(() => result.orThrow()).toThrow(CommandFailedError);
    api.live.onStart = (command) => command.end(resultOf());
    expect((await sandbox.exec('make').orThrow()).exitCode).toBe(0);
  });

  it('a timeout is a result', async () => {
    api.live.onStart = (command) => command.end(resultOf({ timedOut: true, exitCode: 124 }));
    const result = await sandbox.exec('sleep 9');
    expect(result).toMatchObject({ status: 'timeout', exitCode: 124 });
    expect(() => result.orThrow()).toThrow('The command timed out');
  });

  it('passes output on while it is printed, and does not break characters', async () => {
    const bytes = Buffer.from('a grüße 🦋 z');
    api.live.onStart = async (command) => {
      for (const byte of bytes) command.print('stdout', Buffer.from([byte]));
      command.print('stderr', Buffer.from([0x66, 0xff, 0xc3]));
      command.end(resultOf());
    };
    const seen = { out: '', err: '' };
    const options: ExecOptions = {
      onStdout: (text) => {
        expect(text).not.toContain('\ufffd');
        seen.out += text;
      },
      onStderr: (text) => (seen.err += text),
    };
    await sandbox.exec('cat', options);
    expect(seen).toEqual({ out: 'a grüße 🦋 z', err: 'f\ufffd\ufffd' });
  });

  it('without a limit of time goes on in the background of the service', async () => {
    await sandbox.exec('make', { timeoutMs: Number.POSITIVE_INFINITY });
    expect(only().request.timeoutMs).toBeFalsy();
  });

  it('an array is a program with its arguments', async () => {
    await sandbox.exec(['git', 'commit', '-m', "it's done"]);
    expect(only().request.command).toBe(`exec -- git commit -m 'it'\\''s done'`);
  });

  it('ends the command when it is aborted', async () => {
    api.live.onStart = (command) => command.print('stdout', 'working\n');
    const abort = new AbortController();
    const running = sandbox.exec('make', { signal: abort.signal, onStdout: () => abort.abort(new Error('stop')) });
    await expect(running).rejects.toThrow('stop');
    expect(only().signals).toEqual([9]);
  });

  it('ends a command that starts only after it was aborted', async () => {
    const { promise: starts, resolve: start } = Promise.withResolvers<void>();
    api.live.onStart = () => starts;
    const abort = new AbortController();
    const running = sandbox.exec('make', { signal: abort.signal });
    await expect.poll(() => api.live.commands.size).toBe(1);
    abort.abort(new Error('stop'));
    start();
    await expect(running).rejects.toThrow('stop');
    expect(only().signals).toEqual([9]);
  });

  it('ends a command that is aborted after the response has begun and before its id is known', async () => {
    api.live.onStart = () => {};
    const { promise: arrives, resolve: arrive } = Promise.withResolvers<void>();
    const abort = new AbortController();
    const client = api.client({
      fetch: async (input, init) => {
        const response = await fetch(input, init);
        if (!new URL(response.url).pathname.endsWith('/exec') || response.body === null) return response;
        const transform = async (chunk: Uint8Array, controller: TransformStreamDefaultController) => {
          abort.abort(new Error('stop'));
          await arrives;
          controller.enqueue(chunk);
        };
        return new Response(response.body.pipeThrough(new TransformStream({ transform })), response);
      },
    });
    const running = (await client.sandboxes.get(sandbox.id)).exec('make', { signal: abort.signal });
    abort.signal.addEventListener('abort', () => arrive());
    await expect(running).rejects.toThrow('stop');
    expect(only().signals).toEqual([9]);
  });

  it.each([new Error('my own'), new MayflyError('of another call')])(
    'ends the command and its stream when a callback throws: %s',
    async (thrown) => {
      api.live.onStart = (command) => command.print('stdout', 'working\n');
      let isCancelled = false;
      const client = api.client({
        fetch: async (input, init) => {
          const response = await fetch(input, init);
          if (!new URL(response.url).pathname.endsWith('/exec') || response.body === null) return response;
          const reader = response.body.getReader();
          const body = new ReadableStream<Uint8Array>({
            pull: async (controller) => {
              const { value } = await reader.read();
              if (value) controller.enqueue(value);
            },
            cancel: () => {
              isCancelled = true;
              return reader.cancel();
            },
          });
          return new Response(body, response);
        },
      });
      const onStdout = () => {
        throw thrown;
      };
      const running = (await client.sandboxes.get(sandbox.id)).exec('make', { onStdout });
      await expect(running).rejects.toBe(thrown);
      expect(only().signals).toEqual([9]);
      await expect.poll(() => isCancelled).toBe(true);
    },
  );
});

describe('spawn', () => {
  beforeEach(() => {
    api.live.onStart = () => {};
  });

  it('returns at once; the output can be read as often as one likes, from the beginning', async () => {
    const command = await sandbox.spawn('serve', { stdin: false });
    only().print('stdout', 'one\n');
    only().print('stderr', 'two\n');
    only().end(resultOf({ exitCode: 7 }));
    for (let reading = 0; reading < 2; reading += 1) {
      const seen: string[] = [];
      for await (const { stream, text } of command) seen.push(`${stream} ${text}`);
      expect(seen).toEqual(['stdout one\n', 'stderr two\n']);
    }
    expect((await command.wait()).exitCode).toBe(7);
    expect((await command.info()).status).toBe('completed');
  });

  it('another process attaches by its id and continues after the position of the first', async () => {
    const command = await sandbox.spawn('make');
    only().print('stdout', 'first ');
    for await (const output of command) {
      expect(output.text).toBe('first ');
      break;
    }
    only().print('stdout', 'second');
    only().end(resultOf());
    const elsewhere = (await api.client().sandboxes.get(sandbox.id)).command(command.id);
    const late: string[] = [];
    for await (const { text } of elsewhere.output({ after: command.position })) late.push(text);
    expect(late.join('')).toBe('second');
    const replayed: string[] = [];
    for await (const { text } of elsewhere) replayed.push(text);
    expect(replayed.join('')).toBe('first second');
    const nothing = await elsewhere.output({ after: elsewhere.position }).next();
    expect(nothing).toMatchObject({ done: true, value: { exitCode: 0 } });
    expect((await api.client().command(command.id).wait()).id).toBe(command.id);
  });

  it('keeps bytes as they are', async () => {
    const command = await sandbox.spawn('cat');
    only().print('stdout', Buffer.from([0, 0xff, 0xc3]));
    only().print('stdout', 'text');
    only().end(resultOf());
    const pieces: Uint8Array[] = [];
    for await (const { bytes } of command) pieces.push(bytes);
    expect(Buffer.concat(pieces)).toEqual(Buffer.from([0, 0xff, 0xc3, ...Buffer.from('text')]));
  });

  it('writes to the standard input in order, large and binary data too, and closes it', async () => {
    const command = await sandbox.spawn('cat');
    const large = 'grüße '.repeat(200_000);
    await command.write(large);
    await command.write(new Uint8Array([65]));
    await command.closeStdin();
    expect(only().stdin.join('')).toContain(`${large}A`);
  });

  it('keeps the order of writes that nobody awaits', async () => {
    const command = await sandbox.spawn('cat');
    const digits = Array.from({ length: 20 }, (_, index) => `${index} `);
    const writes = digits.map((digit) => command.write(digit));
    await Promise.all([...writes, command.closeStdin()]);
    expect(only().stdin.join('')).toContain(digits.join(''));
  });

  it('sends signals', async () => {
    const command = await sandbox.spawn('serve');
    await command.kill();
    await command.kill('INT');
    expect(only().signals).toEqual([15, 2]);
  });

  it('is ended when it is aborted before it has started', async () => {
    const { promise: starts, resolve: start } = Promise.withResolvers<void>();
    api.live.onStart = () => starts;
    const abort = new AbortController();
    const starting = sandbox.spawn('make', { signal: abort.signal });
    await expect.poll(() => api.live.commands.size).toBe(1);
    abort.abort(new Error('stop'));
    start();
    await expect(starting).rejects.toThrow('stop');
    expect(only().signals).toEqual([9]);
  });

  it('a reader that is aborted leaves the command alone', async () => {
    const command = await sandbox.spawn('serve');
    const abort = new AbortController();
    const waiting = command.wait({ signal: abort.signal });
    abort.abort(new Error('enough'));
    await expect(waiting).rejects.toThrow('enough');
    expect(only().signals).toEqual([]);
  });

  it('is listed', async () => {
    const command = await sandbox.spawn('serve');
    const running = await sandbox.commands({ status: 'running' }).all();
    expect(running.map(({ id }) => id)).toContain(command.id);
  });
});
