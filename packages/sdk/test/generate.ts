import {
  defaultLimits,
  type ErrorEntry,
  errorTable,
  type JsonSchema,
  openApiDocument,
  signalNumbers,
} from '@mayfly/contract';

/** The resources that callers see, and what they are called in TypeScript. */
const resources: Readonly<Record<string, string>> = {
  Account: 'Account',
  DirectoryEntry: 'DirectoryEntry',
  Execution: 'Execution',
  ExecutionSummary: 'ExecutionSummary',
  Port: 'Port',
  Sandbox: 'SandboxInfo',
  Snapshot: 'Snapshot',
  Stats: 'Stats',
  Usage: 'Usage',
  WrittenFile: 'WrittenFile',
};

const heading = '// Generated from the contract. To update it: npx vitest run --project unit packages/sdk/src/api -u\n';

/** The types of the resources: fields in camel case, times as dates. */
export function resourceTypes(): string {
  const { schemas } = openApiDocument({
    limits: defaultLimits,
    publicUrl: 'http://localhost',
    previewUrl: 'https://preview',
  }).components;
  const interfaces = Object.entries(resources).map(([name, exported]) => {
    const schema = schemas[name];
    if (schema === undefined) throw new Error(`The contract has no resource ${name}.`);
    return `${comment(schema.description, '')}export interface ${exported} ${objectType(schema, '')}\n`;
  });
  const signals = Object.keys(signalNumbers).map((name) => `\n  | '${name}'`);
  const signalType = `/** The signals that can be sent to a command. */\nexport type SignalName =${signals.join('')};\n`;
  return [heading, signalType, ...interfaces].join('\n');
}

/** The error classes, one for each type of error, and the table of what to do about them. */
export function errorClasses(): string {
  const entries: readonly (readonly [string, ErrorEntry])[] = Object.entries(errorTable);
  const classes = entries.map(
    ([type, { cause }]) =>
      `/** ${cause} */\nexport class ${classOf(type)} extends ApiError {\n  declare readonly type: '${type}';\n}\n`,
  );
  const rows = entries.map(
    ([type, { retry, retryByStatus, hint }]) =>
      `  ${type}: {\n    error: ${classOf(type)},\n    retry: '${retry}',\n${byStatus(retryByStatus)}    hint: ${quoted(hint)},\n  },\n`,
  );
  return [
    heading,
    "import { ApiError } from './api-error.ts';\n",
    ...classes,
    `/** What the service recommends for each type of error. */\nexport const errorTable = {\n${rows.join('')}} as const;\n`,
    '/** The stable code of an error. */\nexport type ErrorType = keyof typeof errorTable;\n',
  ].join('\n');
}

function byStatus(categories: ErrorEntry['retryByStatus']): string {
  if (categories === undefined) return '';
  const fields = Object.entries(categories).map(([status, category]) => `${status}: '${category}'`);
  return `    retryByStatus: { ${fields.join(', ')} },\n`;
}

function classOf(type: string): string {
  const words = type.replace(/_error$/, '').split('_');
  return `${words.map((word) => word[0]?.toUpperCase() + word.slice(1)).join('')}Error`;
}

function objectType(schema: JsonSchema, indent: string): string {
  const inner = `${indent}  `;
  const fields = Object.entries(schema.properties ?? {}).map(
    ([name, field]) =>
      `${comment(field.description, inner)}${inner}readonly ${camelCased(name)}: ${typeOf(name, field, inner)};\n`,
  );
  return `{\n${fields.join('')}${indent}}`;
}

function typeOf(name: string, schema: JsonSchema, indent: string): string {
  if (schema.const !== undefined) return quoted(schema.const as string);
  const given = schema.anyOf?.map((one) => typeOf(name, one, indent));
  if (given) return given.join(' | ');
  const types = [schema.type ?? []].flat();
  const enumerated = schema.enum?.filter((value) => value !== null).map((value) => quoted(value as string));
  return types
    .map((type) => {
      if (type === 'object') return objectType(schema, indent);
      if (type === 'string' && (schema.format === 'date-time') !== name.endsWith('_at')) {
        throw new Error(`${name}: a field is a time exactly if its name ends with _at.`);
      }
      if (type === 'string') return enumerated?.join(' | ') ?? (schema.format === 'date-time' ? 'Date' : 'string');
      return type === 'integer' ? 'number' : type;
    })
    .join(' | ');
}

function comment(text: string | undefined, indent: string): string {
  return text === undefined ? '' : `${indent}/** ${text} */\n`;
}

function quoted(text: string): string {
  return text.includes("'") ? JSON.stringify(text) : `'${text}'`;
}

function camelCased(name: string): string {
  return name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
}
