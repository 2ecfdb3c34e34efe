/** One server-sent event. */
export interface ReceivedEvent {
  readonly id: string;
  readonly event: string;
  readonly data: Readonly<Record<string, unknown>>;
}

/** Reads server-sent events as they arrive. Comments and fields without an event are left out. Ends with the stream; throws when it is cut. */
export async function* readEvents(response: Response): AsyncGenerator<ReceivedEvent, void> {
  if (response.body === null) return;
  let text = '';
  for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
    text += chunk;
    for (let end = text.indexOf('\n\n'); end >= 0; end = text.indexOf('\n\n')) {
      const fields = new Map(
        text
          .slice(0, end)
          .split('\n')
          .map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 2)]),
      );
      text = text.slice(end + 2);
      const event = fields.get('event');
      if (event === undefined) continue;
      const data = JSON.parse(fields.get('data') ?? '{}') as ReceivedEvent['data'];
      yield { id: fields.get('id') ?? '', event, data };
    }
  }
}

/** The bytes of an output event. */
export function bytesOf({ data: { data, encoding } }: ReceivedEvent): Buffer {
  return Buffer.from(String(data), encoding === 'base64' ? 'base64' : 'utf8');
}
