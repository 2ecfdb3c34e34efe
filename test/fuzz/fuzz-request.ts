/** A request before it is bytes. Ids of what exists are filled in when it is sent, see world.ts. */
export interface FuzzRequest {
  /** The operation it was made from, or what kind of garbage it is. */
  readonly operation: string;
  /** `valid` must not be refused for its form. */
  readonly kind: 'valid' | 'changed' | 'hostile' | 'garbage';
  readonly method: string;
  /** Below the version prefix, query included; `@live3@` stands for an id. */
  readonly target: string;
  readonly headers: readonly (readonly [string, string])[];
  readonly body?: Uint8Array | undefined;
  readonly framing: 'length' | 'chunked' | 'announces-more' | 'announces-less';
  /** All of it instead, as it goes over the wire. */
  readonly bytes?: Uint8Array;
}

/** Whether what is sent may be less or more than it says it is. */
export const isMisframed = ({ kind, framing, headers }: FuzzRequest): boolean =>
  kind === 'garbage' ||
  framing.startsWith('announces') ||
  headers.some(([name]) => name === 'transfer-encoding' || name === 'content-length');

/** Whether the other end may close without an answer: it was sent no whole request, or none of this protocol. */
export const mayStayUnanswered = (request: FuzzRequest): boolean =>
  isMisframed(request) || request.method === 'CONNECT';

const chunk = (body: Uint8Array): Buffer => {
  const half = Math.ceil(body.length / 2);
  const parts = [body.subarray(0, half), body.subarray(half)].filter((part) => part.length > 0);
  const framed = parts.flatMap((part) => [Buffer.from(`${part.length.toString(16)}\r\n`), part, Buffer.from('\r\n')]);
  return Buffer.concat([...framed, Buffer.from('0\r\n\r\n')]);
};

/** The bytes of a request on a connection of its own. Header values are written as UTF-8, whatever they are. */
export const render = (request: FuzzRequest, key: string): Buffer => {
  if (request.bytes) return Buffer.from(request.bytes);
  const { method, target, framing, body } = request;
  const given = new Set(request.headers.map(([name]) => name.toLowerCase()));
  const length = { length: 0, 'announces-more': 7, 'announces-less': -1, chunked: 0 }[framing] + (body?.length ?? 0);
  const own: [string, string][] = [
    ['host', 'localhost'],
    ['connection', 'close'],
    ['authorization', `Bearer ${key}`],
  ];
  if (body)
    own.push(framing === 'chunked' ? ['transfer-encoding', 'chunked'] : ['content-length', `${Math.max(0, length)}`]);
  const headers = [...own.filter(([name]) => !given.has(name)), ...request.headers];
  const head = [`${method} /v1${target} HTTP/1.1`, ...headers.map(([name, value]) => `${name}: ${value}`), '', ''];
  return Buffer.concat([
    Buffer.from(head.join('\r\n')),
    framing === 'chunked' && body ? chunk(body) : (body ?? Buffer.alloc(0)),
  ]);
};
