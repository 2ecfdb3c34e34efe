import { Ajv2020 } from 'ajv/dist/2020.js';
import { fullFormats } from 'ajv-formats/dist/formats.js';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { defaultLimits } from '../limits.ts';
import { defineOperations } from '../operations/all-operations.ts';
import type { Operation } from '../operations/operation.ts';
import { openApiDocument } from './document.ts';
import type { JsonSchema, ParameterObject } from './types.ts';

const document = openApiDocument({ limits: defaultLimits, publicUrl: 'http://x', previewUrl: 'https://x' });
const ajv = new Ajv2020({ strict: false, formats: fullFormats });

const operations = Object.values(defineOperations(defaultLimits)) as readonly Operation[];
const withBody = operations.filter(({ body }) => body !== undefined);

function publishedBody({ path, method }: Operation) {
  const content = document.paths[path]?.[method.toLowerCase()]?.requestBody?.content['application/json'];
  return { schema: content?.schema ?? {}, example: content?.example };
}

/** Values at and around the bounds of a published field, and values of other types. */
function valuesFor(schema: JsonSchema): fc.Arbitrary<unknown> {
  const { minimum = 0, maximum = 10, minLength = 0, maxLength = 10 } = schema;
  const around = [minimum - 1, minimum, minimum + 0.5, maximum, maximum + 1];
  const lengths = [Math.max(0, minLength - 1), minLength, maxLength, maxLength + 1].filter((length) => length < 5_000);
  return fc.oneof(
    fc.constantFrom(...(schema.enum ?? [null]), undefined, null),
    fc.constantFrom(...around),
    fc.constantFrom(...lengths.flatMap((length) => ['x'.repeat(length), '🦋'.repeat(length)])),
    fc.constantFrom('', 'a\0b', true, [], {}, { A: 'b' }, { '1A': 'b' }, { A: 1 }, { A: '\0' }, '2026-01-01T00:00:00Z'),
  );
}

describe.each(withBody)('the body of $id', (operation) => {
  const { schema, example } = publishedBody(operation);
  const accepts = ajv.compile(schema);
  const bodies = fc.record(
    Object.fromEntries(Object.entries(schema.properties ?? {}).map(([name, field]) => [name, valuesFor(field)])),
    { requiredKeys: [] },
  );

  test('is published as it is validated', () => {
    // The published schema does not say that a path stays in /workspace, that base64 is complete, or that one field needs another.
    const isExact = !['writeFile', 'writeStdin', 'runCommand'].includes(operation.id);
    fc.assert(
      fc.property(bodies, (body) => {
        const sent: unknown = JSON.parse(JSON.stringify(body));
        const isValid = operation.body?.safeParse(sent).success;
        if (isExact || isValid === true) expect(accepts(sent)).toBe(isValid);
      }),
      { numRuns: 300 },
    );
  });

  test('has the published defaults and a valid example', () => {
    expect(operation.body?.safeParse(example).success).toBe(true);
    const { required = [], properties = {} } = schema;
    const least = Object.fromEntries(required.map((name) => [name, properties[name]?.examples?.[0]]));
    const read = operation.body?.parse(least) as Record<string, unknown>;
    for (const [name, field] of Object.entries(properties)) {
      // Null means that the default depends on the account.
      if (!required.includes(name) && read[name] !== null) expect(read[name]).toEqual(field.default);
    }
  });
});

test('optional parameters have the published defaults', () => {
  for (const { path, method, query } of operations) {
    if (query === undefined) continue;
    const parameters = (document.paths[path]?.[method.toLowerCase()]?.parameters ?? []).filter(
      (one): one is ParameterObject => 'in' in one && one.in === 'query',
    );
    const least = parameters.filter(({ required }) => required).map(({ name, example }) => [name, example]);
    const read = query.parse(Object.fromEntries(least)) as Record<string, unknown>;
    const optional = parameters.filter(({ required }) => !required);
    expect(optional.map(({ name }) => read[name])).toEqual(optional.map(({ schema }) => schema.default));
  }
});
