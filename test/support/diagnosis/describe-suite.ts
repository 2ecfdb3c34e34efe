import { readFileSync, statfsSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { stripVTControlCharacters } from 'node:util';
import { consolesOf, keptConsoles } from './consoles.ts';
import { readLogs, type SuiteRecord } from './suite-record.ts';

const maxLogLines = 100;
const maxConsoleLines = 90;
const maxLineLength = 1_000;

/** What helps to understand a failure in a test file: the host, the logs of its services, and the consoles of its machines. At most 200 lines. */
export function describeSuite({ dataDirs, folder }: SuiteRecord): string[] {
  const logs = readLogs(folder).filter((lines) => lines.length > 0);
  // The services that were started last are the likeliest to matter.
  const shown = logs.slice(-3);
  const linesEach = Math.floor(maxLogLines / Math.max(shown.length, 1));
  const running = dataDirs.toReversed().flatMap(consolesOf);
  const consoles = (running.length > 0 ? running : keptConsoles(folder)).slice(0, maxConsoleLines);
  return [
    describeHost(),
    ...shown.flatMap((lines) => [
      `-- log of service ${logs.indexOf(lines) + 1} of ${logs.length}`,
      ...lines.slice(-linesEach),
    ]),
    ...consoles,
  ].map(printable);
}

/** One line: what is free on the host at this moment. */
function describeHost(): string {
  const { bavail, bsize } = statfsSync(tmpdir());
  const meminfo = readFileSync('/proc/meminfo', 'utf8');
  const [total, available] = ['MemTotal', 'MemAvailable'].map(
    (name) => Number(new RegExp(`^${name}: +(\\d+)`, 'm').exec(meminfo)?.[1]) * 1024,
  );
  const load = loadavg().map((value) => value.toFixed(1));
  return `-- host: ${gib(available)} of ${gib(total)} GiB memory available, ${gib(bavail * bsize)} GiB disk free in ${tmpdir()}, load ${load.join(' ')}`;
}

function gib(bytes = Number.NaN): string {
  return (bytes / 1024 ** 3).toFixed(1);
}

/** A console has whatever the guest wrote. Nothing of it may reach the terminal but text. */
function printable(line: string): string {
  const text = stripVTControlCharacters(line).replace(/[^\P{Cc}\t]/gu, '');
  return text.length > maxLineLength ? `${text.slice(0, maxLineLength)}…` : text;
}
