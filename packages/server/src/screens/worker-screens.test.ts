import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Worker } from 'node:worker_threads';
import headless from '@xterm/headless';
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest';
import type { Screen, Screens, TerminalSize } from '../core/ports/screens.ts';
import { createScreens, tailBytes } from './worker-screens.ts';

const size = { cols: 40, rows: 5 };

/** What a client sees that has just attached. */
async function linesOf(screen: Screen, { cols, rows }: TerminalSize = size): Promise<string[]> {
  const terminal = new headless.Terminal({ cols, rows, allowProposedApi: true, logLevel: 'off' });
  const shown = await screen.show();
  await new Promise<void>((resolve) => terminal.write(shown, resolve));
  const { active } = terminal.buffer;
  return Array.from({ length: rows }, (_, row) => active.getLine(active.baseY + row)?.translateToString(true) ?? '');
}

const textOf = async (screen: Screen) => Buffer.from(await screen.show()).toString();

const shellPrompt = 'output\r\n\x1b[32m$\x1b[m ';
const asScreen = ['output', '$ ', '', '', ''];

/** Costs several seconds of CPU time for each 4 KiB, on a terminal of this size. */
const large = { cols: 1000, rows: 1000 };
const expensive = Buffer.alloc(16 * 1024, '\x1b[500L');

describe('screens', () => {
  const workers: Worker[] = [];
  const onWorkerStarted = (worker: Worker) => workers.push(worker);
  let screens: Screens;

  beforeEach(() => {
    workers.length = 0;
    screens = createScreens({ onWorkerStarted, showTimeoutMs: 60_000 });
  });

  afterEach(() => screens[Symbol.asyncDispose]());

  /** Ends the worker as a crash would. */
  async function crash(): Promise<void> {
    const count = workers.length;
    await workers.at(-1)?.terminate();
    await expect.poll(() => workers.length).toBe(count + 1);
  }

  test('a flood of sizes does not fill memory, and the last one is shown', async () => {
    using screen = screens.open(size);
    screen.write(Buffer.from(shellPrompt));
    const [worker] = workers;
    if (worker === undefined) throw new Error('no worker');
    const send = vi.spyOn(worker, 'postMessage');
    for (let sent = 0; sent < 50_000; sent += 1) screen.resize({ cols: 30 + (sent % 2), rows: 5 });
    screen.resize(size);
    expect(send.mock.calls.length).toBeLessThan(5_000);
    expect(await linesOf(screen)).toEqual(asScreen);
  });

  test('show what was written before the call, and nothing after it', async () => {
    using screen = screens.open(size);
    screen.write(Buffer.from('before'));
    const shown = linesOf(screen);
    screen.write(Buffer.from(' after'));
    expect((await shown)[0]).toBe('before');
    expect((await linesOf(screen))[0]).toBe('before after');
  });

  test('are independent of each other', async () => {
    using one = screens.open(size);
    using other = screens.open(size);
    one.write(Buffer.from('one'));
    other.write(Buffer.from('other'));
    expect((await linesOf(one))[0]).toBe('one');
    expect((await linesOf(other))[0]).toBe('other');
    expect(workers).toHaveLength(1);
  });

  test('take many small writes in order', async () => {
    using screen = screens.open(size);
    for (const digit of '0123456789'.repeat(3)) screen.write(Buffer.from(digit));
    expect((await linesOf(screen))[0]).toBe('0123456789'.repeat(3));
  });

  test('are shown in their new size', async () => {
    using screen = screens.open(size);
    screen.write(Buffer.from('a line that is longer than twenty cells'));
    const narrow = { cols: 20, rows: 5 };
    screen.resize(narrow);
    screen.write(Buffer.from('\r\n\x1b[5;20HX'));
    const lines = await linesOf(screen, narrow);
    expect(lines[4]).toBe(`${' '.repeat(19)}X`);
  });

  test('forget everything with a reset', async () => {
    using screen = screens.open(size);
    screen.write(Buffer.from('old\x1b[?1049halternate\x1b['));
    screen.reset({ cols: 10, rows: 3 });
    screen.write(Buffer.from('new'));
    expect(await linesOf(screen, { cols: 10, rows: 3 })).toEqual(['new', '', '']);
  });

  test('keep up with a flood by leaving out its middle', async () => {
    using screen = screens.open(size);
    const line = Buffer.from('the quick brown fox jumps over it\r\n');
    const flood = Buffer.alloc(1024 * 1024, line);
    const before = process.memoryUsage().arrayBuffers;
    for (let mebibyte = 0; mebibyte < 20; mebibyte++) {
      for (let offset = 0; offset < flood.length; offset += 32 * 1024)
        screen.write(flood.subarray(offset, offset + 32 * 1024));
    }
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(4 * 1024 * 1024);
    screen.write(Buffer.from('\x1b[2J\x1b[Hthe end'));
    expect(await linesOf(screen)).toEqual(['the end', '', '', '', '']);
  });

  test('keep up with a single write that is larger than all limits', async () => {
    using screen = screens.open(size);
    screen.write(Buffer.concat([Buffer.alloc(1024 * 1024, 'x'), Buffer.from('\r\n\x1b[2J\x1b[Hthe end')]));
    expect((await linesOf(screen))[0]).toBe('the end');
  });

  test('lose nothing if the flood is shorter than what is kept', async () => {
    using screen = screens.open(size);
    screen.write(Buffer.from('\x1b[?1049h'));
    screen.write(Buffer.alloc(255 * 1024, '\r\nx'));
    screen.write(Buffer.alloc(tailBytes - 100, '\r\ny'));
    screen.write(Buffer.from('\x1b[Hstill the alternate screen'));
    const shown = await textOf(screen);
    expect(shown).toContain('\x1b[?1049h');
    expect((await linesOf(screen))[0]).toBe('still the alternate screen');
  });

  test('of expensive output show it raw, while others are not disturbed', async () => {
    using hostile = screens.open(large);
    using ordinary = screens.open(size);
    hostile.write(Buffer.concat([Buffer.from('marker'), expensive]));
    ordinary.write(Buffer.from(shellPrompt));
    expect(await linesOf(ordinary)).toEqual(asScreen);
    expect(await textOf(hostile)).toBe(`marker${expensive.toString()}`);
    hostile.write(Buffer.from('more'));
    expect(await textOf(hostile)).toBe(`marker${expensive.toString()}more`);
    expect(workers).toHaveLength(1);
  });

  test('come back from their output if the worker is lost', async () => {
    using screen = screens.open(size);
    screen.write(Buffer.from(shellPrompt));
    expect(await linesOf(screen)).toEqual(asScreen);
    await crash();
    expect(await linesOf(screen)).toEqual(asScreen);
    screen.write(Buffer.from('ls'));
    expect((await linesOf(screen))[1]).toBe('$ ls');
  });

  test('answer with raw output if the worker is lost while it works, and no longer emulate what it worked on', async () => {
    using hostile = screens.open(large);
    using ordinary = screens.open(size);
    ordinary.write(Buffer.from(shellPrompt));
    expect(await linesOf(ordinary)).toEqual(asScreen);
    hostile.write(expensive);
    const shown = textOf(hostile);
    await crash();
    expect(await shown).toBe(expensive.toString());
    expect(await linesOf(ordinary)).toEqual(asScreen);
    expect(await textOf(hostile)).toBe(expensive.toString());
  });

  test('are raw if the worker keeps crashing', async () => {
    using screen = screens.open(size);
    screen.write(Buffer.from(shellPrompt));
    for (let crashes = 0; crashes < 4; crashes++) await crash();
    expect(await linesOf(screen)).toEqual(asScreen);
    await workers.at(-1)?.terminate();
    await expect.poll(() => textOf(screen)).toBe(shellPrompt);
    screen.write(Buffer.from('ls'));
    expect(await textOf(screen)).toBe(`${shellPrompt}ls`);
    using later = screens.open(size);
    later.write(Buffer.from(shellPrompt));
    expect(await textOf(later)).toBe(shellPrompt);
    expect(workers).toHaveLength(5);
  });

  test('show raw output from the beginning of a character', async () => {
    await screens[Symbol.asyncDispose]();
    using screen = screens.open(size);
    screen.write(Buffer.from('漢'.repeat(tailBytes)));
    expect(await textOf(screen)).toBe('漢'.repeat(Math.floor(tailBytes / 3)));
  });

  test('ignore what happens after they were closed', async () => {
    const screen = screens.open(size);
    screen.write(Buffer.from('text'));
    const shown = textOf(screen);
    screen[Symbol.dispose]();
    screen.write(Buffer.from(' more'));
    screen.resize({ cols: 2, rows: 2 });
    expect(await shown).toBe('text');
  });
});

test('a screen is shown raw if the worker does not answer in time', async () => {
  await using screens = createScreens({ showTimeoutMs: 1 });
  using screen = screens.open(large);
  screen.write(expensive);
  expect(await textOf(screen)).toBe(expensive.toString());
});

test('a worker that makes no progress is replaced', async () => {
  const workers: Worker[] = [];
  await using screens = createScreens({ onWorkerStarted: (worker) => workers.push(worker), stallTimeoutMs: 1 });
  using screen = screens.open(large);
  screen.write(expensive);
  await expect.poll(() => workers.length).toBeGreaterThan(1);
});

test('pending shows are answered at disposal, and later screens are raw', async () => {
  const screens = createScreens();
  const screen = screens.open(size);
  screen.write(Buffer.from(shellPrompt));
  const shown = textOf(screen);
  await screens[Symbol.asyncDispose]();
  expect(await shown).toBe(shellPrompt);
  using late = screens.open(size);
  late.write(Buffer.from('late'));
  expect(await textOf(late)).toBe('late');
});

test.each(['disposed', 'open'])('a process ends by itself while its screens are %s', async (state) => {
  const script = `
    const { createScreens } = await import(${JSON.stringify(new URL('./worker-screens.ts', import.meta.url).href)});
    const screens = createScreens({ showTimeoutMs: 60_000 });
    const screen = screens.open({ cols: 80, rows: 24 });
    screen.write(Buffer.from('shown'));
    console.log(Buffer.from(await screen.show()).toString().includes('shown'));
    if (${state === 'disposed'}) await screens[Symbol.asyncDispose]();
  `;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    timeout: 60_000,
  });
  expect(stdout).toBe('true\n');
});
