import { createHash } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect } from 'vitest';
import { chunked } from './chunked.ts';
import { type Mutation, mutate, mutations } from './mutate.ts';

/** A parser of untrusted bytes. */
export interface FuzzTarget {
  /** The folder of its corpus, one input per file. */
  readonly corpus: string;
  /**
   * Parses the chunks and describes the outcome: the same text for the same bytes, however they are chunked.
   * Whatever it throws is a finding.
   */
  readonly parse: (pieces: readonly Buffer[]) => string | Promise<string>;
  /** Fraction of the requested runs to do, for slow targets; 1 by default. */
  readonly pace?: number;
  /** The outcome also depends on timing, so different chunking may give different outcomes. */
  readonly timing?: boolean;
}

/** Settings from the environment, for longer runs. */
const settings = {
  /** Mutated inputs per target. */
  runs: Number(process.env.MAYFLY_FUZZ_RUNS ?? 500),
  /** The same seed gives the same inputs; "random" picks a new one. */
  seed: process.env.MAYFLY_FUZZ_SEED === 'random' ? Date.now() % 2 ** 31 : Number(process.env.MAYFLY_FUZZ_SEED ?? 1),
  /** Saves inputs with an outcome that no corpus file has, and those that break a parser. */
  save: process.env.MAYFLY_FUZZ_SAVE === '1',
};

/** The most time one input may take: far more than any does, so that only exponential behaviour exceeds it. */
const inputDeadlineMs = 5_000;
const longestInputBytes = 256 * 1024;
/** Larger inputs, and more per run, are not saved. */
const longestSavedBytes = 2_048;
const mostSaved = 20;

/** The timeout for the test of one target. */
export const fuzzTimeoutMs: number = 60_000 + settings.runs * 40;

/** Replays the corpus, then mutations of it. Every input must finish in bounded time with the same outcome however it is chunked. */
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

/** The kind of an outcome: its distinct lines without numbers and quoted values. */
function signatureOf(outcome: string): string {
  const words = outcome.replaceAll(/"(?:[^"\\]|\\.)*"/g, '""').replaceAll(/[0-9a-f]*[0-9][0-9a-f]*/g, '#');
  return [...new Set(words.split('\n'))].sort().join('\n');
}

function save(folder: string, kind: string, input: Buffer): void {
  mkdirSync(folder, { recursive: true });
  const name = `${kind}-${createHash('sha256').update(input).digest('hex').slice(0, 12)}`;
  writeFileSync(join(folder, name), input);
}
