import { expect, test, vi } from 'vitest';
import { TextProgress } from './progress.ts';

test('on a terminal, the running step counts seconds on one line, whatever its width', () => {
  vi.useFakeTimers();
  try {
    const written: string[] = [];
    const progress = new TextProgress({
      stdout: { write: (text) => written.push(String(text)), isTTY: true, columns: 24 },
    });
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
