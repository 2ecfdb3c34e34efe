/** Where announcements go; a subset of a writable stream, so that tests can collect them. */
export interface AnnouncementSink {
  readonly isTTY?: boolean;
  write(text: string): unknown;
}

/** Lets a running step say what it is busy with. */
export type ReportDetail = (detail: string) => void;

/** Tells the operator what set-up does, how far it is and how long it took. */
export interface Announcer {
  /** One plain line. */
  line(text: string): void;
  /** Announces a step, repeats itself while it takes long, and says how it ended. */
  step<T>(title: string, work: (report: ReportDetail) => Promise<T>): Promise<T>;
}

const heartbeatMs = 10_000;
const terminalRefreshMs = 1_000;

/** "0.4 s", "61 s", "3 min 5 s". */
export function formatElapsed(elapsedMs: number): string {
  if (elapsedMs < 9_950) return `${(elapsedMs / 1000).toFixed(1)} s`;
  const seconds = Math.round(elapsedMs / 1000);
  return seconds < 120 ? `${seconds} s` : `${Math.floor(seconds / 60)} min ${seconds % 60} s`;
}

/** An announcer that redraws one line on a terminal and prints a plain line every ten seconds elsewhere. */
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
      const timer = setInterval(draw, isTerminal ? terminalRefreshMs : heartbeatMs);
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
