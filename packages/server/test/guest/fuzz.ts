import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { chunked } from './chunked.ts';
import { type Mutation, mutate, mutations } from './mutate.ts';

/** One parser of hostile bytes. */
export interface FuzzTarget {
  /** Folder of its corpus: one input per file. */
  readonly corpus: string;
  /**
   * Parses the pieces and says what came of them: the same text for the same bytes, however they are cut.
   * Whatever it throws is a finding.
   */
  readonly parse: (pieces: readonly Buffer[]) => string | Promise<string>;
  /** How many inputs are tried for each one that was asked for; 1 when absent. */
  readonly pace?: number;
  /** What comes of the bytes depends on when they come, too: only that it ends well counts. */
  readonly timing?: boolean;
}

/** Everything that can be set, from the environment of a longer run. */
const settings = {
  /** Mutated inputs per target. */
  runs: Number(process.env.MAYFLY_FUZZ_RUNS ?? 500),
  /** The same seed gives the same inputs; "random" picks one. */
  seed: process.env.MAYFLY_FUZZ_SEED === 'random' ? Date.now() % 2 ** 31 : Number(process.env.MAYFLY_FUZZ_SEED ?? 1),
  /** Keeps inputs that lead to something no corpus file leads to, and those that break a parser. */
  save: process.env.MAYFLY_FUZZ_SAVE === '1',
};

/** The longest that one input may keep a parser busy, in milliseconds: far above what any takes, so only a blow-up passes it. */
const inputDeadlineMs = 5_000;
const longestInputBytes = 256 * 1024;
/** Larger inputs, and more of one run, stay out of the repository. */
const longestSavedBytes = 2_048;
const mostSaved = 20;

/** How long a test of one target may take, in milliseconds. */
export const fuzzTimeoutMs: number = 60_000 + settings.runs * 40;

/** Replays the corpus, then mutations of it: each input ends in bounded time, and its cutting changes nothing. */
export async function fuzz(name: string, target: FuzzTarget): Promise<void> {
  const corpus = readCorpus(target.corpus);
  const seen = new Set<string>();
  let saved = 0;
  for (const input of corpus) seen.add(signatureOf(await tryInput(target, input, [1])));
  const runs = Math.max(1, Math.round(settings.runs * (target.pace ?? 1)));
  const inputs = fc.tuple(
    fc.constantFrom(...corpus),
    mutations(corpus),
    fc.array(fc.integer({ min: 1, max: 64 }), { minLength: 1, maxLength: 6 }),
  );
  const found = await fc.check(
    fc.asyncProperty(inputs, async ([base, changes, cuts]) => {
      const input = apply(base, changes);
      const signature = signatureOf(await tryInput(target, input, cuts));
      if (!settings.save || saved === mostSaved || seen.has(signature) || input.length > longestSavedBytes) return;
      seen.add(signature);
      saved += 1;
      save(target.corpus, 'found', input);
    }),
    { seed: settings.seed, numRuns: runs, endOnFailure: false },
  );
  console.log(`fuzz ${name}: ${corpus.length} of the corpus, ${found.numRuns} mutated, seed ${settings.seed}`);
  if (!found.failed) return;
  const [broken] = found.counterexample ?? [];
  if (broken !== undefined) {
    const input = apply(broken[0], broken[1]);
    if (settings.save) save(target.corpus, 'broke', input);
    expect.fail(`input ${input.toString('hex')} cut by ${broken[2].join(', ')}\n${String(found.errorInstance)}`);
  }
  expect.fail(String(found.errorInstance));
}

async function tryInput(target: FuzzTarget, input: Buffer, cuts: readonly number[]): Promise<string> {
  const startedMs = performance.now();
  const whole = await target.parse([Buffer.from(input)]);
  const cut = await target.parse(chunked(Buffer.from(input), cuts));
  if (!target.timing) expect(cut).toBe(whole);
  expect(performance.now() - startedMs).toBeLessThan(inputDeadlineMs);
  return whole;
}

function apply(base: Buffer, changes: readonly Mutation[]): Buffer {
  return changes.reduce(mutate, base).subarray(0, longestInputBytes);
}

function readCorpus(folder: string): Buffer[] {
  const corpus = readdirSync(folder)
    .sort()
    .map((name) => readFileSync(join(folder, name)));
  expect(corpus, `no corpus in ${folder}`).not.toEqual([]);
  return corpus;
}

/** What an outcome has in common with others of its kind: its different lines, without numbers and quoted values. */
function signatureOf(outcome: string): string {
  const words = outcome.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll(/[0-9a-f]*[0-9][0-9a-f]*/g, '#');
  return [...new Set(words.split('\n'))].sort().join('\n');
}

function save(folder: string, kind: string, input: Buffer): void {
  mkdirSync(folder, { recursive: true });
  const name = `${kind}-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`;
  writeFileSync(join(folder, name), input);
}
