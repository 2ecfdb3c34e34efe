import type { JsonSchema } from '@mayfly/contract';
import fc from 'fast-check';

const word = fc.stringMatching(/^[a-z0-9]{1,8}$/);

function quoted(text: string): string {
  return `'${text.replaceAll('\0', '').replaceAll("'", `'\\''`)}'`;
}

/** Commands that are quick and harmless. */
const command = fc.oneof(
  fc.constantFrom(
    'true',
    'false',
    'sleep 0',
    'id',
    'echo "$0"',
    'printf "a\\377b"',
    ':',
    '# nothing',
    '\n',
    'kill -9 $$',
    'exit 124',
  ),
  fc.integer({ min: 0, max: 300 }).map((code) => `exit ${code}`),
  fc.string({ unit: 'grapheme', maxLength: 30 }).map((text) => `echo ${quoted(text)}`),
  fc.string({ unit: 'binary', maxLength: 30 }).map((text) => `printf %s ${quoted(text)}`),
  fc.integer({ min: 0, max: 3000 }).map((count) => `head -c ${count} /dev/urandom`),
  fc.string({ unit: 'grapheme-ascii', minLength: 1, maxLength: 20 }),
);

const fileName = fc
  .oneof(
    // Few names, so that some requests read what others wrote.
    { weight: 4, arbitrary: fc.constantFrom('a', 'b', 'c') },
    { weight: 1, arbitrary: word },
    { weight: 1, arbitrary: fc.string({ unit: 'grapheme', minLength: 1, maxLength: 12 }) },
  )
  .map((name) => name.replaceAll(/[/\0]|^\.+$/g, 'x').toWellFormed() || 'x');
const path = fc
  .tuple(fc.constantFrom('', '/workspace/', '/tmp/'), fc.array(fileName, { minLength: 1, maxLength: 3 }))
  .map(([start, names]) => `${start}fuzz/${names.join('/')}`);

/** Fields that need meaningful values; all others are generated from their schema. */
const fieldValues: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  command,
  timeout_ms: fc.constantFrom(1000, 1001, 2000),
  cwd: fc.constantFrom('/workspace', '/tmp', '/', null),
  env: fc.dictionary(
    fc.stringMatching(/^[A-Za-z_][A-Za-z0-9_]{0,8}$/),
    fc.string({ maxLength: 20 }).map((value) => value.replaceAll('\0', '')),
  ),
  path,
  content: fc.string({ unit: 'grapheme', maxLength: 200 }).map((text) => text.toWellFormed()),
  encoding: fc.constant('utf8'),
  count: fc.constantFrom(1, 2, 3),
  // Few aliases, so that some creates find a template.
  alias: fc.constantFrom('fuzz-a', 'fuzz-b', 'fuzz-c'),
  template: fc.constantFrom('fuzz-a', 'fuzz-b', 'fuzz-c'),
  snapshot_id: fc.nat({ max: 999 }).map((number) => `@snapshot${number}@`),
};

const dateTime = fc
  .date({ noInvalidDate: true, min: new Date(0), max: new Date('2100-01-01') })
  .map((date) => date.toISOString());

/** A value that the schema of a field allows. */
export function validValue(name: string, schema: JsonSchema): fc.Arbitrary<unknown> {
  const known = fieldValues[name];
  if (known) return known;
  if (schema.format === 'date-time') return dateTime;
  if (schema.pattern?.startsWith('^exec_')) return fc.stringMatching(new RegExp(schema.pattern));
  if (schema.enum) return fc.constantFrom(...schema.enum);
  const [first] = schema.anyOf ?? [];
  if (first) return validValue(name, first);
  switch (Array.isArray(schema.type) ? schema.type[0] : schema.type) {
    case 'integer':
    case 'number':
      return fc.integer({ min: schema.minimum ?? -1000, max: schema.maximum ?? 1000 });
    case 'boolean':
      return fc.boolean();
    case 'array':
      return fc.array(validValue('', schema.items ?? {}), { maxLength: 3 });
    case 'object':
      return validObject(schema);
    default:
      return fc.string({
        minLength: schema.minLength ?? 0,
        maxLength: Math.min(schema.maxLength ?? 30, 100),
        unit: 'grapheme-ascii',
      });
  }
}

/** An object with all required and some optional fields. */
export function validObject({ properties = {}, required = [] }: JsonSchema): fc.Arbitrary<Record<string, unknown>> {
  return fc.record(
    Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, validValue(name, schema)])),
    {
      requiredKeys: [...required],
    },
  );
}
