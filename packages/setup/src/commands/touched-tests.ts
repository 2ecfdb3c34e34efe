import { relative } from 'node:path';
import { parseArgs } from 'node:util';
import { createAnnouncer } from '../announce.ts';
import { projectRoot, readEnvironment } from '../environment.ts';
import { prepare } from '../prepare.ts';
import { refuseUnfitHost } from '../requirements/problems.ts';
import { type GoModule, goModules } from '../steps/go.ts';
import { type Changes, listRepository, readChanges } from '../suites/changes.ts';
import { readReferences } from '../suites/references.ts';
import { matches, type Selection, selectTests, testFilesOf } from '../suites/select.ts';
import { type CheckPlan, goChecks, prepareChecks, runChecks, staticChecks, vitest } from './checks.ts';

const usage = `Usage: npm run test:touched -- [--list] [COMMIT]
Runs the static checks, and the Go tests, unit tests and suites that the files changed since COMMIT can break. Changes that are not committed count.
  COMMIT    by default the last commit that was pushed, or the one before HEAD if the branch has no upstream
  --list    only say what would run
`;
const shownFiles = 3;

/** Runs what the changed files can break and returns the exit code. */
export async function testTouched(args: readonly string[], signal: AbortSignal): Promise<number> {
  const options = parse(args);
  if (options === undefined) return 2;
  const changes = await readChanges(projectRoot, options.commit);
  const files = await listRepository(projectRoot);
  const selection = selectTests(changes.files, files, readReferences(projectRoot));
  process.stdout.write(describeSelection(changes, selection));
  if (selection.uncovered.length > 0) return 1;
  if (options.list || changes.files.length === 0) return 0;
  await refuseUnfitHost();
  const announcer = createAnnouncer(process.stderr);
  const environment = readEnvironment(process.env);
  const tools = await prepareChecks(await prepare({ environment, purpose: 'tests', announcer, signal }));
  return await runChecks(planTouched(changes, selection, files, tools.go), tools);
}

/** The parsed arguments; undefined, with an explanation on standard error, if they are wrong. */
function parse(args: readonly string[]) {
  try {
    const { values, positionals } = parseArgs({
      args: [...args],
      options: { list: { type: 'boolean', default: false } },
      allowPositionals: true,
    });
    if (positionals.length > 1) throw new Error('Give one commit.');
    return { list: values.list, commit: positionals[0] };
  } catch (error) {
    process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n${usage}`);
    return undefined;
  }
}

/** The checks for a selection, in the order of `npm test`. Suites on KVM are left out. `go` is the compiler. */
export function planTouched(changes: Changes, selection: Selection, files: readonly string[], go: string): CheckPlan {
  const { unitTests, suites } = selection;
  const suiteFiles = suites
    .filter(({ suite }) => suite.runs !== 'on KVM')
    .flatMap(({ suite }) => testFilesOf(suite, files));
  return {
    checks: [...staticChecks, ...goChecks(go, changedModules(changes))],
    tests: [
      ...(unitTests.length > 0
        ? [vitest('unit tests', ['--project', 'unit*', '--project', 'root', ...unitTests])]
        : []),
      ...(suiteFiles.length > 0 ? [vitest('suites', ['--project', '!unit*', ...suiteFiles])] : []),
    ],
  };
}

/** What was selected, and because of which files. */
export function describeSelection(changes: Changes, { suites, unitTests, uncovered }: Selection): string {
  const width = Math.max(0, ...suites.map(({ suite }) => suite.name.length));
  const lines = suites.map(({ suite, because }) => {
    const place = suite.runs === 'on KVM' ? ' (not run here: npm run test:kvm)' : '';
    return `  ${suite.name.padEnd(width)}  ${listSome(because)}${place}`;
  });
  const modules = changedModules(changes).map(({ title }) => title);
  return [
    `Files changed since ${changes.since}: ${changes.files.length}`,
    `Suites that they can break: ${suites.length}`,
    ...lines,
    `Files of unit tests: ${unitTests.length}`,
    `Go modules: ${modules.length === 0 ? 'none' : modules.join(', ')}`,
    ...uncovered.map(
      (file) =>
        `✗ No suite covers ${file}. Add it to a row of packages/setup/src/suites/suites.ts, or to withoutSuite.`,
    ),
    '',
  ].join('\n');
}

/** The modules that changed or use one that did. */
function changedModules({ files }: Changes): readonly GoModule[] {
  const changed = ({ folder }: GoModule) =>
    files.some((file) => matches(file, relative(projectRoot, folder)) && !file.endsWith('.md'));
  return goModules.filter((module) => [module, ...(module.uses ?? [])].some(changed));
}

function listSome(files: readonly string[]): string {
  const more = files.length - shownFiles;
  return `${files.slice(0, shownFiles).join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}
