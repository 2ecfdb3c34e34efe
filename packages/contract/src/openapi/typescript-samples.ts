import type { Operations } from '../operations/all-operations.ts';
import type { ExampleCall } from './curl-sample.ts';

export type OperationId = Operations[keyof Operations]['id'];

/**
 * A program for each operation, to which `mayfly` is the client. `$name` stands for the example of a parameter or of a field of the body. Each of
 * them is executed by `test/sdk/reference.test.ts`.
 */
const typescriptSamples: Readonly<Record<OperationId, string>> = {
  createSandbox: `
    const sandbox = await mayfly.sandboxes.create({
      size: $size,
      name: $name,
      lifetimeMinutes: $timeout_minutes,
    });
    console.log(sandbox.id);
  `,
  listSandboxes: `
    for await (const sandbox of mayfly.sandboxes.list()) {
      console.log(sandbox.id, sandbox.status);
    }
  `,
  getSandbox: `
    const sandbox = await mayfly.sandboxes.get($id);
    console.log(sandbox.status, sandbox.expiresAt);
  `,
  deleteSandbox: `
    await mayfly.sandboxes.delete($id);
  `,
  extendSandbox: `
    const sandbox = await mayfly.sandboxes.get($id);
    const { expiresAt } = await sandbox.extend($additional_minutes);
    console.log(expiresAt);
  `,
  forkSandbox: `
    const sandbox = await mayfly.sandboxes.get($id);
    const { sandboxes } = await sandbox.fork({
      count: $count,
      name: $name,
      lifetimeMinutes: $timeout_minutes,
    });
    for (const copy of sandboxes) console.log(copy.id);
  `,
  rollbackSandbox: `
    const sandbox = await mayfly.sandboxes.get($id);
    await sandbox.rollback($snapshot_id);
  `,
  getStats: `
    const sandbox = await mayfly.sandboxes.get($id);
    const { cpu, memory } = await sandbox.stats();
    console.log(cpu.percent, memory.usedBytes);
  `,
  streamStats: `
    const sandbox = await mayfly.sandboxes.get($id);
    for await (const { cpu } of sandbox.watchStats()) {
      console.log(cpu.percent);
    }
  `,
  openTerminal: `
    const sandbox = await mayfly.sandboxes.get($id);
    const terminal = await sandbox.terminal({ cols: $cols, rows: $rows });
    terminal.write('uname -a; exit\\n');
    for await (const bytes of terminal) process.stdout.write(bytes);
  `,
  runCommand: `
    const sandbox = await mayfly.sandboxes.get($id);
    const result = await sandbox.exec($command, {
      timeoutMs: $timeout_ms,
      cwd: $cwd,
      env: $env,
    });
    console.log(result.exitCode, result.stdout);
  `,
  getExecution: `
    const command = mayfly.command($id);
    const { status, stdout } = await command.info();
    console.log(status, stdout);
  `,
  streamExecution: `
    const command = mayfly.command($id);
    for await (const { stream, text } of command) {
      console.log(stream, text);
    }
  `,
  writeStdin: `
    const command = mayfly.command($id);
    await command.write($data);
  `,
  killExecution: `
    const command = mayfly.command($id);
    await command.kill($signal);
  `,
  listExecutions: `
    const sandbox = await mayfly.sandboxes.get($id);
    for await (const { id, status } of sandbox.commands()) {
      console.log(id, status);
    }
  `,
  writeFile: `
    const sandbox = await mayfly.sandboxes.get($id);
    await sandbox.files.write($path, $content);
  `,
  readFile: `
    const sandbox = await mayfly.sandboxes.get($id);
    console.log(await sandbox.files.read($path));
    const entries = await sandbox.files.list();
    for (const { name } of entries) console.log(name);
  `,
  deleteFile: `
    const sandbox = await mayfly.sandboxes.get($id);
    await sandbox.files.remove($path);
  `,
  exposePort: `
    const sandbox = await mayfly.sandboxes.get($id);
    const { url } = await sandbox.ports.open($port);
    console.log(url);
  `,
  listPorts: `
    const sandbox = await mayfly.sandboxes.get($id);
    const ports = await sandbox.ports.list();
    for (const { url } of ports) console.log(url);
  `,
  closePort: `
    const sandbox = await mayfly.sandboxes.get($id);
    await sandbox.ports.close($port);
  `,
  createSnapshot: `
    const sandbox = await mayfly.sandboxes.get($id);
    const snapshot = await sandbox.snapshot({
      name: $name,
      alias: $alias,
    });
    console.log(snapshot.id);
  `,
  listSnapshots: `
    for await (const snapshot of mayfly.snapshots.list()) {
      console.log(snapshot.id, snapshot.name);
    }
  `,
  getSnapshot: `
    const snapshot = await mayfly.snapshots.get($id);
    console.log(snapshot.name, snapshot.status);
  `,
  deleteSnapshot: `
    await mayfly.snapshots.delete($id);
  `,
  getUsage: `
    const usage = await mayfly.usage();
    console.log(usage);
  `,
  getAccount: `
    const account = await mayfly.account();
    console.log(account);
  `,
  createTicket: `
    const ticket = await mayfly.request('POST', '/tickets');
    console.log(ticket);
  `,
};

/** What the samples in TypeScript begin with; the quick start explains it. */
export function typescriptPrelude(publicUrl: string): string {
  return `import { Mayfly } from '@mayfly/sdk';\n\nconst mayfly = new Mayfly({ baseUrl: ${literal(publicUrl)} });`;
}

/** The program that calls an operation, without the prelude. Throws if the document has no example for a `$name` in it. */
export function typescriptOf(id: OperationId, { parameters, requestBody }: ExampleCall): string {
  const inUrl = parameters.filter((one) => one.in !== 'header').map(({ name, example }) => [name, example]);
  const body = requestBody?.content['application/json'].example as Readonly<Record<string, unknown>> | undefined;
  const examples: Readonly<Record<string, unknown>> = { ...Object.fromEntries(inUrl), ...body };
  return withoutIndent(typescriptSamples[id]).replaceAll(/\$(\w+)/g, (_, name: string) => {
    if (examples[name] === undefined) throw new Error(`${id} has no example of ${name}`);
    return literal(examples[name]);
  });
}

/** A value of JSON as it is written in TypeScript. */
function literal(value: unknown): string {
  if (typeof value === 'string') {
    const escaped = JSON.stringify(value).slice(1, -1);
    return `'${escaped.replaceAll('\\"', '"').replaceAll("'", "\\'")}'`;
  }
  if (typeof value === 'number') return value.toLocaleString('en-US').replaceAll(',', '_');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return JSON.stringify(value);
  const fields = Object.entries(value).map(([name, field]) => `${name}: ${literal(field)}`);
  return `{ ${fields.join(', ')} }`;
}

function withoutIndent(text: string): string {
  const [, indent = ''] = /^\n( *)/.exec(text) ?? [];
  return text.replaceAll(`\n${indent}`, '\n').trim();
}
