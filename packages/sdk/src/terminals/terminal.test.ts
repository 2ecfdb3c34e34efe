import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type StubApi, stubApi } from '../../test/stub-api.ts';
import { ConnectionError, type Sandbox } from '../index.ts';
import { clientFrame, FrameParser, opcodes } from './frames.ts';

let api: StubApi;
let sandbox: Sandbox;
beforeAll(async () => {
  api = await stubApi();
  sandbox = await api.client().sandboxes.create();
});
afterAll(() => api[Symbol.asyncDispose]());

const nativeSocket = globalThis.WebSocket;

describe.each([
  ['the WebSocket of the runtime', nativeSocket],
  ['our own WebSocket', undefined],
])('a terminal over %s', (_, implementation) => {
  beforeAll(() => {
    Object.assign(globalThis, { WebSocket: implementation });
  });
  afterAll(() => {
    Object.assign(globalThis, { WebSocket: nativeSocket });
  });

  it('prints, is typed into, changes its size, is left and joined, and exits', async () => {
    const terminal = await sandbox.terminal({ cols: 100, rows: 30 });
    const shell = api.service.connector.terminals.newest;
    expect([terminal.cols, terminal.rows]).toEqual([100, 30]);
    const sizes: number[] = [];
    terminal.onResize = ({ cols }) => sizes.push(cols);
    const printed: Uint8Array[] = [];
    const reading = (async () => {
      for await (const bytes of terminal) printed.push(bytes);
    })();
    const large = 'grüße '.repeat(50_000);
    shell.print('hello');
    shell.print(large);
    await expect.poll(() => Buffer.concat(printed).toString()).toContain(`hello${large}`);
    terminal.write('ls\n');
    terminal.write('x'.repeat(600_000));
    terminal.write(new Uint8Array([3]));
    await expect.poll(() => shell.typed.join('')).toBe(`ls\n${'x'.repeat(600_000)}\u0003`);
    terminal.resize(90, 20);
    await expect.poll(() => terminal.cols).toBe(90);
    expect(sizes).toEqual([90]);
    terminal.detach();
    await reading;
    const again = await sandbox.terminal({ session: terminal.session });
    shell.exit(5);
    for await (const _ of again);
    expect(again.exitCode).toBe(5);
  });

  it('that does not exist, or whose sandbox ends, is a lost connection', async () => {
    await expect(sandbox.terminal({ session: 'term_unknown' })).rejects.toThrow(ConnectionError);
    const other = await api.client().sandboxes.create();
    const terminal = await other.terminal();
    const reading = (async () => {
      for await (const _ of terminal);
    })();
    await Promise.all([expect(reading).rejects.toThrow(ConnectionError), other.delete()]);
  });
});

describe('frames', () => {
  it.each([0, 1, 125, 126, 65_535, 65_536, 200_000])('of %i bytes are read however they are divided', (length) => {
    const payload = crypto.getRandomValues(new Uint8Array(Math.min(length, 65_536)));
    const whole = new Uint8Array(length);
    whole.set(payload.subarray(0, length));
    const frame = clientFrame(opcodes.binary, whole);
    // What a server sends is the same without the mask.
    const start = frame.length - length - 4;
    const mask = frame.subarray(start, start + 4);
    const unmasked = frame.subarray(start + 4).map((byte, index) => byte ^ (mask[index % 4] ?? 0));
    const served = Buffer.concat([frame.subarray(0, start), unmasked]);
    served[1] = (served[1] ?? 0) & 0x7f;
    const parser = new FrameParser();
    const frames = [served.subarray(0, 1), served.subarray(1, 3), served.subarray(3)].flatMap((part) => [
      ...parser.push(part),
    ]);
    expect(frames.length).toBe(1);
    expect(frames[0]).toMatchObject({ isLast: true, opcode: opcodes.binary });
    expect(Buffer.compare(frames[0]?.payload ?? Buffer.alloc(0), whole)).toBe(0);
  });

  it('that are masked or use extensions are refused', () => {
    expect(() => [...new FrameParser().push(new Uint8Array([0xc2, 0]))]).toThrow('not valid');
    expect(() => [...new FrameParser().push(clientFrame(opcodes.text, new Uint8Array()))]).toThrow('not valid');
  });
});
