import fc from 'fast-check';
import { maxCallBytes } from '../../src/machines/protocol/messages.ts';

/** What the host process must do with a message: answer it, or end the connection. */
export interface HostileMessage {
  readonly kind: string;
  readonly mustBe: 'answered' | 'disconnected';
  /** The bytes to send. A call gets its id when it is sent: the next one, or the one before as a replay. */
  readonly bytes: (nextId: number) => Buffer;
}

/** How many messages are sent in `npm test`, and at full length: to a host process with machines of tests, and to one with real machines. */
export const messageCounts = { short: 10_000, full: 30_000, fullOnMachines: 100_000 } as const;

/** Machines that the sender may know. Every other machine must stay untouched. */
export const knownIds: readonly string[] = Array.from({ length: 40 }, (_, at) => `known-${at}`);

const sizes = ['small', 'medium', 'large'];

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

const randomId = fc.stringMatching(/^[a-z0-9][a-z0-9_-]{0,63}$/).filter((id) => !id.startsWith('innocent'));
const knownId = fc.constantFrom(...knownIds);
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
function validCalls(foreignIds: readonly string[]) {
  const foreignId = foreignIds.length > 0 ? fc.oneof(randomId, fc.constantFrom(...foreignIds)) : randomId;
  const machine = fc.oneof(knownId, foreignId);
  // Mostly known ones, so that they can be destroyed again and launches do not end at the limit of machines.
  const launchedId = fc.oneof(
    { weight: 999, arbitrary: knownId },
    { weight: 1, arbitrary: randomId },
    ...(foreignIds.length > 0 ? [{ weight: 100, arbitrary: fc.constantFrom(...foreignIds) }] : []),
  );
  const reading = fc.oneof(
    fc.record({ call: fc.constant('usage'), machine }),
    fc.record({ call: fc.constant('cancel'), launch: fc.integer({ min: 1, max: 1_000_000 }) }),
    fc.record({ call: fc.constant('list'), after: machine }, { requiredKeys: ['call'] }),
    fc.record({ call: fc.constant('snapshots'), after: machine }, { requiredKeys: ['call'] }),
  );
  const launch = { call: fc.constant('launch'), machine: launchedId, size: fc.constantFrom(...sizes), egress };
  const copy = { ...launch, snapshot: machine };
  const changing = fc.oneof(
    { weight: 60, arbitrary: fc.record({ call: fc.constantFrom('pause', 'resume', 'destroy'), machine }) },
    { weight: 40, arbitrary: fc.record(launch) },
    { weight: 20, arbitrary: fc.record({ call: fc.constant('set_egress'), machine, egress }) },
    { weight: 20, arbitrary: fc.record({ call: fc.constant('delete_snapshot'), snapshot: machine }) },
    // Few, because a save of a real machine takes seconds.
    { weight: 2, arbitrary: fc.record({ call: fc.constant('save'), machine, snapshot: machine }) },
    { weight: 6, arbitrary: fc.record(copy) },
  );
  return { reading, changing };
}

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
  .tuple(fc.constantFrom('machine', 'size', 'egress', 'call', 'launch', 'after', 'snapshot'), odd)
  .map(([key, value]) => ({
    ...{ call: 'launch', machine: 'known-1', size: 'small', egress: 'all' },
    [key]: value,
  }));

const oddText = fc.constantFrom(
  '{"id":1,"call":"destroy","machine":"innocent-1"',
  '{"id":01,"call":"list"}',
  '{"id":1,"id":2,"call":"exec"}',
  '{"__proto__":{"id":1},"call":"list"}',
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

/** Messages that end the connection: no calls, or calls with a wrong string, type or id somewhere. */
function violations(validCall: fc.Arbitrary<object>): fc.Arbitrary<HostileMessage> {
  const brokenString = fc
    .tuple(validCall, traversal, fc.nat())
    .map(([body, text, at]) => replaceString(body, text, at));
  const half = (body: object): Buffer =>
    Buffer.from(
      `${line({ id: 1e9, ...body })
        .toString()
        .slice(0, -9)}\n`,
    );
  return fc.oneof(
    { weight: 80, arbitrary: brokenString.map(call('traversal', 'disconnected', (nextId) => nextId)) },
    { weight: 30, arbitrary: brokenType.map(call('type', 'disconnected', (nextId) => nextId)) },
    { weight: 30, arbitrary: validCall.map(call('replay', 'disconnected', (nextId) => nextId - 1)) },
    { weight: 10, arbitrary: fc.tuple(validCall, odd).map(([body, id]) => call('id', 'disconnected', () => id)(body)) },
    { weight: 20, arbitrary: oddText.map((text) => raw('text')(Buffer.from(`${text}\n`))) },
    {
      weight: 20,
      arbitrary: fc.uint8Array({ maxLength: 200 }).map((bytes) => raw('binary')(Buffer.from([...bytes, 10]))),
    },
    { weight: 8, arbitrary: validCall.map((body) => raw('half')(half(body))) },
    {
      weight: 2,
      arbitrary: fc.constantFrom('x', '[', '"', ' ').map((fill) => raw('giant')(Buffer.alloc(maxCallBytes + 1, fill))),
    },
  );
}

export interface Hostility {
  /** Machines of others, whose ids the sender found out. */
  readonly foreignIds?: readonly string[];
  /** How many of which kind there are, as weights. A host process limits how many it takes of each per second. */
  readonly shares?: { readonly reading: number; readonly changing: number; readonly violating: number };
}

/** Messages of a service that was taken over, reproducible by the seed. */
export function hostileMessages(count: number, seed: number, hostility: Hostility = {}): HostileMessage[] {
  const { foreignIds = [], shares = { reading: 4, changing: 8, violating: 3 } } = hostility;
  const { reading, changing } = validCalls(foreignIds);
  const answered = call('valid', 'answered', (nextId) => nextId);
  const message = fc.oneof(
    { weight: shares.reading, arbitrary: reading.map(answered) },
    { weight: shares.changing, arbitrary: changing.map(answered) },
    { weight: shares.violating, arbitrary: violations(fc.oneof(reading, changing)) },
  );
  return fc.sample(message, { numRuns: count, seed });
}
