import { it } from 'vitest';
import { type FuzzTarget, fuzz, fuzzTimeoutMs } from '../../../../test/guest/fuzz.ts';
import { LineSplitter } from '../../protocol/line-splitter.ts';
import { maxLineBytes, parseQmpMessage } from './messages.ts';

function corpus(name: string): string {
  return new URL(`../../../../test/machines/qmp-corpus/${name}`, import.meta.url).pathname;
}

/** The parsers of input from QEMU, which a guest may have compromised. */
const targets: Readonly<Record<string, FuzzTarget>> = {
  /** Splits and parses the input as QmpClient does. */
  monitor: {
    corpus: corpus('monitor'),
    parse: (pieces) => {
      const splitter = new LineSplitter(maxLineBytes);
      const kinds: string[] = [];
      for (const piece of pieces) {
        for (const line of splitter.push(piece)) {
          if (Buffer.byteLength(line) > 3 * maxLineBytes) throw new Error('a line is too long');
          const message = parseQmpMessage(line);
          const detail = message.kind === 'failure' ? message.message.length <= 1024 : 'id' in message;
          kinds.push(`${message.kind} ${detail}`);
        }
      }
      return kinds.join('\n');
    },
  },
};

it.each(Object.entries(targets))('QMP %s survives fuzzing', { timeout: fuzzTimeoutMs }, async (name, target) => {
  await fuzz(`qmp ${name}`, target);
});
