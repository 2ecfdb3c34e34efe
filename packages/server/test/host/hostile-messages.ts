import fc from 'fast-check';
import { maxCallBytes } from '../../src/machines/protocol/messages.ts';

/** What the host must do with a message: answer it, or end the connection. */
export interface HostileMessage {
  readonly kind: string;
  readonly mustBe: 'answered' | 'disconnected';
  /** The bytes to send. A call gets its id when it is sent: the next one, or the one before as a replay. */
  readonly bytes: (nextId: number) => Buffer;
}

/** Machines that the sender may know. Every other machine must stay untouched. */
export const knownIds: readonly string[] = Array.from({ length: 40 }, (_, at) => `known-${at}`);

const sizes = ['small', 'medium', 'large'];
const machineCalls = ['pause', 'resume', 'usage', 'destroy'];

/** Strings that mean something to a shell, a file system, a command line, a firewall, QEMU or JavaScript. */
const traversals: readonly string[] = [
  ...[
    '..',
    '.',
    '/',
    '../../../etc/shadow',
    '/etc/passwd',
    '..%2f..%2fetc',
    '....//',
    'a/../../b',
    './a',
    'a/b',
    '~root',
  ],
  ...['\u0000', 'a\u0000', 'a\n', '\r\n', 'a\u2028', ' a', 'a ', '', 'A', 'ä', '‮a', '\ud800', 'a'.repeat(300)],
  ...['$(reboot)', '`id`', ';id', '|id', '&id', "'", '"', '\\', '*', '?', '-rf', '--help', '-device', 'a,b=c', 'a=b'],
  ...['{ drop }', 'accept;', 'fd:3', 'file:/etc/shadow', 'exec:id', 'unix:/run/host.sock', 'C:\\', '\\\\host\\share'],
  ...['__proto__.', 'constructor()', 'NaN', '%00', '{{7*7}}', '$HOME', '<script>'],
];
const traversal = fc.constantFrom(...traversals);

const foreignId = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,63}$/).filter((id) => !id.startsWith('innocent'));
const knownId = fc.constantFrom(...knownIds);
const machine = fc.oneof(knownId, foreignId);
/** Mostly known ones, so that they can be destroyed again and launches do not end at the limit of machines. */
const launchedId = fc.oneof({ weight: 999, arbitrary: knownId }, { weight: 1, arbitrary: foreignId });
const label = fc.stringMatching(/^[a-z0-9_]{1,20}$/);
const egressEntry = fc.oneof(
  fc.ipV4(),
  fc.tuple(fc.ipV4(), fc.nat(99)).map(([address, bits]) => `${address}/${bits}`),
  fc
    .tuple(fc.boolean(), fc.array(label, { minLength: 1, maxLength: 5 }))
    .map(([all, labels]) => `${all ? '*.' : ''}${labels.join('.')}`),
);
const egress = fc.oneof(
  fc.constantFrom('all', 'none'),
  fc.array(egressEntry, { maxLength: 8 }).map((allow) => ({ allow })),
);

/** Calls that match the schema. Whatever they name, they may only affect machines of their own data folder. */
const validCall = fc.oneof(
  { weight: 4, arbitrary: fc.record({ call: fc.constantFrom(...machineCalls), machine }) },
  {
    weight: 2,
    arbitrary: fc.record({ call: fc.constant('launch'), machine: launchedId, size: fc.constantFrom(...sizes), egress }),
  },
  { weight: 1, arbitrary: fc.record({ call: fc.constant('set_egress'), machine, egress }) },
  { weight: 1, arbitrary: fc.record({ call: fc.constant('cancel'), launch: fc.integer({ min: 1, max: 1_000_000 }) }) },
  { weight: 1, arbitrary: fc.record({ call: fc.constant('adopt'), after: machine }, { requiredKeys: ['call'] }) },
);

/** A valid call with one of its strings replaced, wherever it is. */
const brokenString = fc.tuple(validCall, traversal, fc.nat()).map(([call, text, at]) => replaceString(call, text, at));

function replaceString(call: object, text: string, at: number): object {
  const places: (() => object)[] = [];
  for (const [key, value] of Object.entries(call)) {
    if (typeof value === 'string') places.push(() => ({ ...call, [key]: text }));
    else if (isAllowList(value)) places.push(() => ({ ...call, [key]: { allow: [...value.allow, text] } }));
  }
  places.push(() => ({ ...call, [text]: 1 }));
  return places[at % places.length]?.() ?? call;
}

function isAllowList(value: unknown): value is { readonly allow: readonly string[] } {
  return typeof value === 'object' && value !== null && 'allow' in value;
}

/** A valid call with a value of another type somewhere. */
const odd = fc.constantFrom<unknown>(null, -1, 0, 1.5, 1e300, true, [], {}, ['a'], { allow: 'all' }, { allow: [null] });
const brokenType = fc
  .tuple(fc.constantFrom('machine', 'size', 'egress', 'call', 'launch', 'after'), odd)
  .map(([key, value]) => ({
    ...{ call: 'launch', machine: 'known-1', size: 'small', egress: 'all' },
    [key]: value,
  }));

const oddText = fc.constantFrom(
  '{"id":1,"call":"destroy","machine":"innocent-1"',
  '{"id":01,"call":"adopt"}',
  '{"id":1,"id":2,"call":"exec"}',
  '{"__proto__":{"id":1},"call":"adopt"}',
  "{'id':1}",
  'null',
  '0',
  '"launch"',
  '',
  ' ',
  '\u0000',
  'GET / HTTP/1.1\r',
  '{"execute":"quit"}',
  `${'['.repeat(50_000)}`,
  `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
);

const line = (message: object): Buffer => Buffer.from(`${JSON.stringify(message)}\n`);
const call = (kind: string, mustBe: HostileMessage['mustBe'], ids: (nextId: number) => unknown) => (body: object) => ({
  kind,
  mustBe,
  bytes: (nextId: number) => line({ id: ids(nextId), ...body }),
});
const raw = (kind: string) => (bytes: Buffer) => ({ kind, mustBe: 'disconnected' as const, bytes: () => bytes });

const hostileMessage: fc.Arbitrary<HostileMessage> = fc.oneof(
  { weight: 800, arbitrary: validCall.map(call('valid', 'answered', (nextId) => nextId)) },
  { weight: 80, arbitrary: brokenString.map(call('traversal', 'disconnected', (nextId) => nextId)) },
  { weight: 30, arbitrary: brokenType.map(call('type', 'disconnected', (nextId) => nextId)) },
  { weight: 30, arbitrary: validCall.map(call('replay', 'disconnected', (nextId) => nextId - 1)) },
  { weight: 10, arbitrary: fc.tuple(validCall, odd).map(([body, id]) => call('id', 'disconnected', () => id)(body)) },
  { weight: 20, arbitrary: oddText.map((text) => raw('text')(Buffer.from(`${text}\n`))) },
  {
    weight: 20,
    arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => raw('binary')(Buffer.from([...bytes, 10]))),
  },
  {
    weight: 8,
    arbitrary: validCall.map((body) =>
      raw('half')(
        Buffer.from(
          `${line({ id: 1e9, ...body })
            .toString()
            .slice(0, -9)}\n`,
        ),
      ),
    ),
  },
  {
    weight: 2,
    arbitrary: fc.constantFrom('x', '[', '"', ' ').map((fill) => raw('giant')(Buffer.alloc(maxCallBytes + 1, fill))),
  },
);

/** Messages of a service that was taken over, reproducible by the seed. */
export function hostileMessages(count: number, seed: number): HostileMessage[] {
  return fc.sample(hostileMessage, { numRuns: count, seed });
}
