import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { projectRoot } from '../project-root.ts';
import { runInherited } from './run-inherited.ts';

const options = {
  url: { type: 'string' },
  key: { type: 'string' },
  'second-key': { type: 'string' },
  'sibling-key': { type: 'string' },
  'suspended-key': { type: 'string' },
  'revoked-key': { type: 'string' },
  'broke-key': { type: 'string' },
  help: { type: 'boolean', default: false },
} as const;

const usage = `npm run conformance -- [options] [files]
Holds a service against the specification. Without --url a service of its own is started on this machine.
  --url URL --key KEY   the service and an account to use; its sandboxes are made and deleted, its limits are reached
  --second-key KEY      another account's key
  --sibling-key KEY     another key of the same account
  --suspended-key KEY   a key of a suspended account
  --revoked-key KEY     a revoked key
  --broke-key KEY       a key of an account without credit
What needs a key that is not given, or a service of its own, is skipped and counted.
`;

/** Runs the conformance suite; its exit code is the result. */
export async function runConformance(args: readonly string[]): Promise<number> {
  const { values, positionals } = read(args);
  const { help, ...given } = values;
  if (help || (given.url === undefined) !== (given.key === undefined)) {
    process.stderr.write(usage);
    return help ? 0 : 2;
  }
  const variables = Object.entries(given).map(([name, value]) => [
    `MAYFLY_CONFORMANCE_${name.replaceAll('-', '_').toUpperCase()}`,
    value,
  ]);
  return await runInherited(
    join(projectRoot, 'node_modules/.bin/vitest'),
    ['run', '--project', 'conformance', ...positionals],
    { env: { ...process.env, ...Object.fromEntries(variables) } },
  );
}

/** An option that there is not asks for help. */
function read(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
    return parseArgs({ args: ['--url', ''], options, allowPositionals: true });
  }
}
