import { it } from 'vitest';
import { type FuzzTarget, fuzz, fuzzTimeoutMs } from '../../../../test/guest/fuzz.ts';
import { LineSplitter, maxLineBytes } from './line-splitter.ts';
import { parseQmpMessage } from './message.ts';

const corpus = (name: string): string =>
  new URL(`../../../../test/machines/qmp-corpus/${name}`, import.meta.url).pathname;

/** The parsers of what a QEMU says that may have been taken over. */
const targets: Readonly<Record<string, FuzzTarget>> = {
  /** Both together, as a monitor's client puts them. */
  monitor: {
    corpus: corpus('monitor'),
    parse: (pieces) => {
      const splitter = new LineSplitter();
      const kinds: string[] = [];
      for (const piece of pieces) {
        for (const line of splitter.push(piece)) {
          if (Buffer.byteLength(line) > 3 * maxLineBytes) throw new Error('a line longer than lines may be');
          const message = parseQmpMessage(line);
          const detail = message.kind === 'failure' ? message.message.length <= 1024 : 'id' in message;
          kinds.push(`${message.kind} ${detail}`);
        }
      }
      return kinds.join('\n');
    },
  },
};

it.each(Object.entries(targets))('QMP %s holds out', { timeout: fuzzTimeoutMs }, async (name, target) => {
  await fuzz(`qmp ${name}`, target);
});
