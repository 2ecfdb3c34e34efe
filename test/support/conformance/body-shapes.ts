/** Describes what is wrong with a value; undefined if nothing is. */
export type Shape = (value: unknown) => string | undefined;

function show(value: unknown): string {
  return (JSON.stringify(value) ?? String(value)).slice(0, 80);
}

function matching(what: string, holds: (value: unknown) => boolean): Shape {
  return (value) => (holds(value) ? undefined : `${show(value)} is not ${what}`);
}

const text = matching('a string', (value) => typeof value === 'string');
const flag = matching('a boolean', (value) => typeof value === 'boolean');
const integer = matching('an integer', Number.isInteger);
const number = matching('a number', Number.isFinite);
const iso = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)$/;
const dateTime = matching('an ISO 8601 date-time', (value) => typeof value === 'string' && iso.test(value));
const httpsUrl = matching('an https URL', (value) => URL.parse(String(value))?.protocol === 'https:');

function only(...allowed: readonly unknown[]): Shape {
  return matching(`one of ${show(allowed)}`, (value) => allowed.includes(value));
}

function orNull(shape: Shape): Shape {
  return (value) => (value === null ? undefined : shape(value));
}

function listOf(shape: Shape): Shape {
  return (value) => {
    if (!Array.isArray(value)) return `${show(value)} is not an array`;
    for (const [at, item] of value.entries()) {
      const problem = shape(item);
      if (problem) return `[${at}]${problem.startsWith('.') ? '' : ': '}${problem}`;
    }
    return undefined;
  };
}

/** An object with at least these fields. */
function record(fields: Readonly<Record<string, Shape>>): Shape {
  return (value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${show(value)} is not an object`;
    for (const [name, shape] of Object.entries(fields)) {
      const problem = Object.hasOwn(value, name) ? shape(Reflect.get(value, name)) : 'is missing';
      if (problem) return `.${name}${/^[.[]/.test(problem) ? '' : ': '}${problem}`;
    }
    return undefined;
  };
}

/** An object with exactly these fields. */
function exactly(fields: Readonly<Record<string, Shape>>): Shape {
  return (value) => {
    const other = Object.keys(value ?? {}).find((name) => !Object.hasOwn(fields, name));
    return record(fields)(value) ?? (other === undefined ? undefined : `.${other} should not be there`);
  };
}

/** Any of several shapes. */
export function either(...shapes: readonly Shape[]): Shape {
  return (value) => {
    const problems = shapes.map((shape) => shape(value));
    return problems.includes(undefined) ? undefined : problems.join(', and ');
  };
}

// The resources of the specification, field by field, written from its text and independent of the contract package.

export const sandbox = record({
  object: only('sandbox'),
  id: text,
  name: orNull(text),
  status: only('provisioning', 'running', 'deleting', 'deleted', 'failed'),
  size: only('small', 'medium', 'large'),
  resources: record({ vcpu: integer, memory_gb: integer, disk_gb: integer }),
  timeout_minutes: integer,
  created_at: dateTime,
  ready_at: orNull(dateTime),
  expires_at: orNull(dateTime),
  deleted_at: orNull(dateTime),
});

export const runningSandbox = record({ status: only('running'), ready_at: dateTime, expires_at: dateTime });

/** "object with `object` string, `id` string, `status` `deleted`, `deleted_at` date-time" */
export const deletedSandbox = exactly({ object: text, id: text, status: only('deleted'), deleted_at: dateTime });

export const sandboxList = record({
  object: only('list'),
  data: listOf(sandbox),
  has_more: flag,
  next_cursor: orNull(dateTime),
});

export const execution = record({
  object: only('execution'),
  id: text,
  sandbox_id: text,
  status: only('running', 'completed', 'timeout', 'failed'),
  exit_code: orNull(integer),
  stdout: text,
  stderr: text,
  truncated: flag,
  duration_ms: orNull(integer),
  started_at: orNull(dateTime),
  finished_at: orNull(dateTime),
});

/** Beyond the specification, from the design: an execution without its output. */
export const executionSummary = record({
  object: only('execution'),
  id: text,
  sandbox_id: text,
  status: text,
  exit_code: orNull(integer),
});

export const stdinWrite = record({ object: only('stdin_write'), execution_id: text, bytes: integer, closed: flag });

export const stats = record({
  object: only('stats'),
  sandbox_id: text,
  measured_at: dateTime,
  cpu: record({ count: integer, used_ms: integer, percent: number }),
  memory: record({ total_bytes: integer, used_bytes: integer }),
  disk: record({ total_bytes: integer, used_bytes: integer }),
  network: record({ received_bytes: integer, sent_bytes: integer }),
  processes: integer,
  uptime_ms: integer,
});

export const ticket = record({ object: only('ticket'), ticket: text, expires_at: dateTime });

/** "list envelope, newest first, without output" */
export const executionList = record({
  object: only('list'),
  data: listOf(executionSummary),
  has_more: flag,
  next_cursor: orNull(text),
});

export const port = record({
  object: only('port'),
  sandbox_id: text,
  port: integer,
  url: httpsUrl,
  created_at: dateTime,
});
export const portList = record({ object: only('list'), data: listOf(port) });
export const closedPort = record({ object: only('port'), sandbox_id: text, port: integer, deleted: only(true) });

export const writtenFile = record({ object: only('file'), sandbox_id: text, path: text, bytes: integer });
export const readFile = record({
  object: only('file'),
  path: text,
  bytes: integer,
  encoding: only('utf8', 'base64'),
  content: text,
});
export const deletedFile = record({ object: only('file'), sandbox_id: text, path: text, deleted: only(true) });
export const directory = record({
  object: only('list'),
  path: text,
  entries: listOf(record({ name: text, type: only('file', 'dir', 'symlink'), size_bytes: orNull(integer) })),
});

// Beyond the specification, from the design.

export const snapshot = record({
  object: only('snapshot'),
  id: text,
  name: orNull(text),
  alias: orNull(text),
  sandbox_id: text,
  size: only('small', 'medium', 'large'),
  status: only('creating', 'ready', 'failed'),
  bytes: integer,
  created_at: dateTime,
});
export const snapshotList = record({
  object: only('list'),
  data: listOf(snapshot),
  has_more: flag,
  next_cursor: orNull(text),
});
export const deletedSnapshot = exactly({ object: only('snapshot'), id: text, deleted: only(true) });

const errorFields = record({ type: text, message: text });

/** A sandbox or an error for each copy. */
export const forkList = record({
  object: only('list'),
  data: listOf(
    either(
      record({ object: only('fork_result'), sandbox, error: only(null) }),
      record({ object: only('fork_result'), sandbox: only(null), error: errorFields }),
    ),
  ),
});

export const usage = record({
  object: only('usage'),
  period_days: integer,
  balance_usd: number,
  spent_usd: number,
  added_usd: number,
  sandboxes_created: integer,
  runtime_minutes: integer,
});

export const account = record({
  object: only('account'),
  id: text,
  email: text,
  balance_usd: number,
  limits: record({ concurrent_sandboxes: integer, max_timeout_minutes: integer }),
  pricing_usd_per_hour: record({ small: number, medium: number, large: number }),
});

export const errorBody = record({ error: errorFields, request_id: text });
