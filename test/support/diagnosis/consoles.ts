import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastLines, ownRecord } from './suite-record.ts';

const maxMachines = 3;
const maxLines = 30;
const keptName = 'consoles.txt';

/** The ends of the consoles and QEMU's logs of the machines in a data folder that wrote last, at most three; none if all are gone. */
export function consolesOf(dataDir: string): string[] {
  const files = namesIn(join(dataDir, 'machines')).flatMap((id) =>
    ['console.log', 'qemu.log'].map((name) => ({ id, name, path: join(dataDir, 'machines', id, name) })),
  );
  const changed = Map.groupBy(files, ({ id }) => id);
  const recent = [...changed.values()]
    .map((own) => ({ own, changedMs: Math.max(...own.map(({ path }) => changedAtMs(path))) }))
    .toSorted((a, b) => b.changedMs - a.changedMs)
    .slice(0, maxMachines);
  return recent.flatMap(({ own }) => own.flatMap(({ id, name, path }) => titled(`${id}/${name}`, path)));
}

/** Keeps the consoles in this process's record, for a failure that is reported after the machines were destroyed. */
export function keepConsoles(dataDir: string): void {
  const lines = consolesOf(dataDir);
  if (lines.length === 0) return;
  try {
    writeFileSync(join(ownRecord().folder, keptName), `${lines.join('\n')}\n`);
  } catch {
    // The diagnosis has less to tell.
  }
}

/** What keepConsoles kept last. */
export function keptConsoles(recordFolder: string): string[] {
  return lastLines(join(recordFolder, keptName), maxMachines * 2 * (maxLines + 1));
}

function titled(title: string, path: string): string[] {
  const lines = lastLines(path, maxLines);
  return lines.length === 0 ? [] : [`-- ${title}`, ...lines];
}

function namesIn(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    return [];
  }
}

function changedAtMs(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0;
}
