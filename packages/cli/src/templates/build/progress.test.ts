import { expect, test, vi } from 'vitest';
import { TextProgress } from './progress.ts';

const onTerminal = (written: string[]) =>
  new TextProgress({
    stdout: { write: () => expect.unreachable('progress is on stderr') },
    stderr: { write: (text) => written.push(String(text)), isTTY: true, columns: 24 },
  });

test('on a terminal, the running step counts seconds on one line, whatever its width', () => {
  vi.useFakeTimers();
  try {
    const written: string[] = [];
    const progress = onTerminal(written);
    const status = { step: 1, total: 2, label: 'a command that is wide\nand long' };
    progress.stepStarted(status);
    vi.advanceTimersByTime(2000);
    progress.stepFinished(status, { cached: false, durationMs: 2040 });
    progress.close();
    expect(written).toEqual([
      '\r\x1b[2K[1/2] a command … … 0 s',
      '\r\x1b[2K[1/2] a command … … 1 s',
      '\r\x1b[2K[1/2] a command … … 2 s',
      '\r\x1b[2K',
      '[1/2] a command that is wide …: 2.0 s\n',
    ]);
  } finally {
    vi.useRealTimers();
  }
});

test('what is not a step is shown once it takes two seconds', () => {
  vi.useFakeTimers();
  try {
    const written: string[] = [];
    const progress = onTerminal(written);
    progress.waiting('Creating');
    vi.advanceTimersByTime(1000);
    progress.waiting('Saving');
    vi.advanceTimersByTime(2000);
    progress.close();
    expect(written).toEqual(['\r\x1b[2KSaving … 2 s', '\r\x1b[2K']);
  } finally {
    vi.useRealTimers();
  }
});
