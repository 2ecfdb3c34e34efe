// Prints figures of the production code's layout: `npm run metrics [-- CHECKOUT]`. Compare two checkouts by running it on both.
import { readdirSync, readFileSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';

/** A run of at least this many equal lines in two places counts as one duplicate pair. */
const duplicateLines = 6;
/** Runs with less text than this are too thin to mean anything, and those in more places than this are the shape of the language. */
const thinCharacters = 60;
const commonPlaces = 8;

const checkout = resolve(process.argv[2] ?? join(import.meta.dirname, '..'));
const files = listProductionFiles(join(checkout, 'packages'));
const texts = new Map(files.map((file) => [file, readFileSync(file, 'utf8')]));
const lineCounts = files.map((file) => countLines(texts.get(file) ?? '')).sort((a, b) => a - b);
const folders = countBy(files.map((file) => relative(checkout, dirname(file))));
const [largestFolder = '', largestCount = 0] = [...folders].sort(([, a], [, b]) => b - a)[0] ?? [];
const importers = countImporters();

const figures: readonly (readonly [string, string | number])[] = [
  ['production files', files.length],
  ['lines in all', lineCounts.reduce((sum, count) => sum + count, 0)],
  ['median lines', percentile(50)],
  ['90th percentile', percentile(90)],
  ['longest file', lineCounts.at(-1) ?? 0],
  ['files of at most 15 lines', lineCounts.filter((count) => count <= 15).length],
  ['files with one importer', [...importers.values()].filter((count) => count === 1).length],
  ['largest folder', `${largestCount} files (${largestFolder})`],
  ['pairs with the same lines', countDuplicates((line) => line)],
  ['pairs with lines of the same shape', countDuplicates(shapeOf)],
];
const width = Math.max(...figures.map(([name]) => name.length));
for (const [name, value] of figures) console.log(`${name.padEnd(width)}  ${value}`);

/** TypeScript that runs in production: no tests, fakes, fixtures or helpers of tests. */
function listProductionFiles(packages: string): string[] {
  return readdirSync(packages, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((file) => /^[^/]+\/src\//.test(relative(packages, file)))
    .filter((file) => !/\.test\.ts$|\.fixture\.ts$|-suite\.ts$|\/(testing|fake|fuzz|node_modules)\//.test(file))
    .sort();
}

function countLines(text: string): number {
  return text.split('\n').length - 1;
}

function percentile(percent: number): number {
  return lineCounts[Math.min(Math.floor((lineCounts.length * percent) / 100), lineCounts.length - 1)] ?? 0;
}

function countBy(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** How many production files import each production file by a relative path. */
function countImporters(): Map<string, number> {
  const counts = new Map(files.map((file) => [file, 0]));
  for (const [file, text] of texts) {
    const imported = ts.preProcessFile(text, true, true).importedFiles.map(({ fileName }) => fileName);
    for (const target of new Set(imported.map((name) => resolve(dirname(file), name)))) {
      const count = counts.get(target);
      if (count !== undefined) counts.set(target, count + 1);
    }
  }
  return counts;
}

/** The line with every name, string and number replaced by a placeholder. */
function shapeOf(line: string): string {
  return line
    .replace(/'[^']*'|"[^"]*"|`[^`]*`/g, 's')
    .replace(/\b\d[\d_.]*\b/g, 'n')
    .replace(
      /\b(?!(?:if|else|for|return|await|throw|new|const|let|async|function|export|class)\b)[A-Za-z_$][\w$]*/g,
      'i',
    );
}

/** Pairs of places whose lines are equal over a run, counted once per run. Imports, comments and bare brackets do not count. */
function countDuplicates(normalise: (line: string) => string): number {
  const positions = new Map<string, { file: number; line: number }[]>();
  const lines = files.map((file) =>
    (texts.get(file) ?? '')
      .split('\n')
      .map((line) => line.trim())
      .filter(isCode),
  );
  const normalised = lines.map((each) => each.map(normalise));
  normalised.forEach((each, file) => {
    for (let line = 0; line + duplicateLines <= each.length; line += 1) {
      const key = each.slice(line, line + duplicateLines).join('\n');
      const found = positions.get(key) ?? [];
      found.push({ file, line });
      positions.set(key, found);
    }
  });
  let pairs = 0;
  for (const [key, found] of positions) {
    if (key.length < thinCharacters || found.length > commonPlaces) continue;
    for (const [index, a] of found.entries()) {
      for (const b of found.slice(index + 1)) {
        if (a.file === b.file && b.line - a.line < duplicateLines) continue;
        const before = [normalised[a.file]?.[a.line - 1], normalised[b.file]?.[b.line - 1]];
        const continuesRun = before[0] !== undefined && before[0] === before[1];
        if (!continuesRun) pairs += 1;
      }
    }
  }
  return pairs;
}

function isCode(line: string): boolean {
  return !/^(import\b|\/\/|\/?\*|\} from |[\]})({[;,]*$)/.test(line) && line !== '';
}
