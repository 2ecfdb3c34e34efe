import { decodeBase64 } from '../api/base64.ts';

/** A piece of what a command printed. */
export interface Output {
  readonly stream: 'stdout' | 'stderr';
  /** As text. A character that was split is in the piece that completes it; bytes that are not UTF-8 are replaced by U+FFFD. */
  readonly text: string;
  /** As bytes, exactly as they were printed. */
  readonly bytes: Uint8Array<ArrayBuffer>;
}

/** The data of an event with output. */
export interface OutputData {
  readonly data: string;
  readonly encoding?: 'base64';
}

const encoder = new TextEncoder();

/** Output that came as text. Its bytes are made only if somebody asks for them. */
class TextOutput implements Output {
  readonly stream: Output['stream'];
  readonly text: string;

  constructor(stream: Output['stream'], text: string) {
    this.stream = stream;
    this.text = text;
  }

  get bytes(): Uint8Array<ArrayBuffer> {
    return encoder.encode(this.text);
  }
}

/** Decodes the output of one command, in the order in which it comes. */
export class OutputDecoder {
  readonly #decoders = {
    stdout: new TextDecoder('utf-8', { ignoreBOM: true }),
    stderr: new TextDecoder('utf-8', { ignoreBOM: true }),
  };
  /** The streams that may be in the middle of a character. */
  readonly #split = new Set<Output['stream']>();

  decode(stream: Output['stream'], { data, encoding }: OutputData): Output {
    if (encoding !== 'base64' && !this.#split.has(stream)) return new TextOutput(stream, data);
    const bytes = encoding === 'base64' ? decodeBase64(data) : encoder.encode(data);
    const text = this.#decoders[stream].decode(bytes, { stream: true });
    this.#split.add(stream);
    return { stream, text, bytes };
  }

  /** What is left of characters that were never completed. */
  *end(): Generator<Output, void> {
    for (const stream of this.#split) {
      const text = this.#decoders[stream].decode();
      if (text !== '') yield { stream, text, bytes: new Uint8Array() };
    }
  }
}
