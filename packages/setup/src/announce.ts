/** A failure whose message is written for the operator: what happened and what to do. Shown without a stack. */
export class SetupError extends Error {
  override readonly name = 'SetupError';
}

/** Where announcements are written. A subset of a writable stream, so that tests can collect them. */
export interface AnnouncementSink {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Reports what a running step is busy with. */
export type ReportDetail = (detail: string) => void;

/** Shows the operator what set-up does and how long it takes. */
export interface Announcer {
  /** Prints one line. */
  line(text: string): void;
  /** Announces a step, shows its progress, and says how long it took or that it failed. */
  step<T>(title: string, work: (report: ReportDetail) => Promise<T>): Promise<T>;
}

const progressMs = 10_000;
const terminalProgressMs = 1_000;

/** "0.4 s", "61 s", "3 min 5 s". */
export function formatElapsed(elapsedMs: number): string {
  if (elapsedMs < 9_950) return `${(elapsedMs / 1000).toFixed(1)} s`;
  const seconds = Math.round(elapsedMs / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** An announcer that redraws one line on a terminal, and elsewhere prints a line every ten seconds. */
export function createAnnouncer(sink: AnnouncementSink, now: () => number = () => performance.now()): Announcer {
  const isTerminal = sink.isTTY === true;
  const clear = isTerminal ? '\r\u001b[K' : '';
  return {
    line: (text) => void sink.write(`${text}\n`),
    step: async (title, work) => {
      const startedMs = now();
      let detail = '';
      const describe = () => `▸ ${title} … ${formatElapsed(now() - startedMs)}${detail && ` · ${detail}`}`;
      const draw = () => sink.write(isTerminal ? `${clear}${describe().slice(0, 110)}` : `${describe()}\n`);
      sink.write(`▸ ${title} …${isTerminal ? '' : '\n'}`);
      const timer = setInterval(draw, isTerminal ? terminalProgressMs : progressMs);
      try {
        const result = await work((text) => {
          detail = text.slice(0, 80);
        });
        sink.write(`${clear}✓ ${title} … ${formatElapsed(now() - startedMs)}\n`);
        return result;
      } catch (error) {
        sink.write(`${clear}✗ ${title} … ${formatElapsed(now() - startedMs)}\n`);
        throw error;
      } finally {
        clearInterval(timer);
      }
    },
  };
}
