/** A generated request. Placeholders for ids are filled in when it is sent, see KnownIds in run.ts. */
export interface FuzzRequest {
  /** The operation it was generated from, or `garbage`. */
  readonly operation: string;
  /** A `valid` request must pass validation. */
  readonly kind: 'valid' | 'mutated' | 'hostile' | 'garbage';
  readonly method: string;
  /** Path without the version prefix, and query. Ids are placeholders such as `@permanent3@`. */
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: Uint8Array | undefined;
  readonly framing: 'length' | 'chunked' | 'announces-more' | 'announces-less';
  /** Raw bytes to send instead of all other fields. */
  readonly bytes?: Uint8Array;
}

/** Whether the request may be shorter or longer than it declares. */
export function isMisframed({ kind, framing, headers }: FuzzRequest): boolean {
  return (
    kind === 'garbage' ||
    framing.startsWith('announces') ||
    headers.some(([name]) => name === 'transfer-encoding' || name === 'content-length')
  );
}

/** Whether the service may close the connection without a response: the request is incomplete or not HTTP. */
export function mayGetNoResponse(request: FuzzRequest): boolean {
  return isMisframed(request) || request.method === 'CONNECT';
}

function chunk(body: Uint8Array): Buffer {
  const half = Math.ceil(body.length / 2);
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
  const framed = parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);
  return Buffer.concat([...framed, Buffer.from('0\r\n\r\n')]);
}

/** The bytes of a request, for a separate connection. Header values are written as UTF-8. */
export function render(request: FuzzRequest, key: string): Buffer {
  if (request.bytes) return Buffer.from(request.bytes);
  const { method, target, framing, body } = request;
  const overridden = new Set(request.headers.map(([name]) => name.toLowerCase()));
  const length = { length: 0, 'announces-more': 7, 'announces-less': -1, chunked: 0 }[framing] + (body?.length ?? 0);
  const defaults: [string, string][] = [
    ['host', 'localhost'],
    ['connection', 'close'],
    ['authorization', `Bearer ${key}`],
  ];
  if (body)
    defaults.push(
      framing === 'chunked' ? ['transfer-encoding', 'chunked'] : ['content-length', `${Math.max(0, length)}`],
    );
  const headers = [...defaults.filter(([name]) => !overridden.has(name)), ...request.headers];
  const head = [`${method} /v1${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''];
  return Buffer.concat([
    Buffer.from(head.join('\r\n')),
    framing === 'chunked' && body ? chunk(body) : (body ?? Buffer.alloc(0)),
  ]);
}
