import { parseArgs } from 'node:util';
import { localProgram, runInherited } from './run-programs.ts';

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

const usage = `Usage: npm run conformance -- [options] [files]
Tests a service against the specification. Without --url it starts a service on this machine.
  --url URL --key KEY   the service and an API key; the tests create and delete sandboxes and use up rate limits
  --second-key KEY      a key of another account
  --sibling-key KEY     another key of the same account
  --suspended-key KEY   a key of a suspended account
  --revoked-key KEY     a revoked key
  --broke-key KEY       a key of an account without credit
Tests that need a key that is not given, or their own service, are skipped and counted.
`;

/** Runs the conformance suite and returns its exit code. */
export async function runConformance(args: readonly string[]): Promise<number> {
  const parsed = parse(args);
  if (parsed === undefined) return 2;
  const { help, ...given } = parsed.values;
  if (help || (given.url === undefined) !== (given.key === undefined)) {
    process.stderr.write(usage);
    return help ? 0 : 2;
  }
  const variables = Object.entries(given).map(([name, value]) => [
    `MAYFLY_CONFORMANCE_${name.replaceAll('-', '_').toUpperCase()}`,
    value,
  ]);
  return await runInherited(localProgram('vitest'), ['run', '--project', 'conformance', ...parsed.positionals], {
    env: { ...process.env, ...Object.fromEntries(variables) },
  });
}

/** The parsed arguments; undefined, with an explanation on standard error, for an unknown option. */
function parse(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options, allowPositionals: true });
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}
