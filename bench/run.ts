import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { createAnnouncer } from '#setup/announce.ts';
import { readEnvironment } from '#setup/environment.ts';
import { prepare } from '#setup/prepare.ts';
import { adoptionRow } from './rows/adoption.ts';
import { bootRow } from './rows/boot.ts';
import { createRows } from './rows/create.ts';
import { dashboardRow } from './rows/dashboard.ts';
import { execRows } from './rows/exec.ts';
import { fileRows } from './rows/files.ts';
import { liveRows } from './rows/live.ts';
import { pauseRows } from './rows/pauses.ts';
import { poolRows, poolSettings } from './rows/pool.ts';
import { previewRows } from './rows/previews.ts';
import { requestRow } from './rows/requests.ts';
import { sdkRow } from './rows/sdk.ts';
import { snapshotRows } from './rows/snapshots.ts';
import { twoProcessRows } from './rows/two-processes.ts';
import { type BenchHost, startBenchHost } from './support/bench-host.ts';
import { type Footprint, formatFootprints, formatTable, type Row, ratio, summarize } from './support/table.ts';

const rows: Row[] = [];
const footprints: Footprint[] = [];

/** The groups of rows, in the order in which they are measured. */
const groups: Readonly<Record<string, (bench: BenchHost) => Promise<readonly Row[]>>> = {
  creates: createRows,
  pool: async ({ host }) => {
    await using withPool = await startBenchHost(host, poolSettings);
    return await poolRows(withPool);
  },
  commands: execRows,
  sdk: async (bench) => [await sdkRow(bench)],
  live: liveRows,
  files: fileRows,
  previews: previewRows,
  pauses: pauseRows,
  snapshots: async (bench) => {
    const measured = await snapshotRows(bench);
    footprints.push(...measured.footprints);
    return measured.rows;
  },
  'two-processes': twoProcessRows,
  adoption: async (bench) => [await adoptionRow(bench)],
  dashboard: async () => [await dashboardRow()],
  requests: async (bench) => [await requestRow(bench)],
  // Compared with a row of "creates"; left out without it.
  'cold-boot': async (bench) => {
    const createSmall = rows.find(({ name }) => name === 'create small');
    return createSmall ? [await bootRow(bench, createSmall)] : [];
  },
};

const named = process.argv.slice(2);
const unknown = named.find((name) => !Object.hasOwn(groups, name));
if (unknown !== undefined) {
  console.error(`Unknown group of rows "${unknown}". Use one or more of: ${Object.keys(groups).join(', ')}.`);
  process.exit(2);
}

const announcer = createAnnouncer(process.stderr);
const environment = readEnvironment(process.env);
const { signal } = new AbortController();
const host = await prepare({ environment, purpose: 'service', announcer, signal, allowsUntrustedCheckout: true });
await using bench = await startBenchHost(host);
const { engine } = host;
console.log(`${engine.arch}, ${cpus().length} cores, ${engine.acceleration}, QEMU ${engine.versionText}`);
for (const [name, measure] of Object.entries(groups)) {
  if (named.length === 0 || named.includes(name)) rows.push(...(await announcer.step(name, () => measure(bench))));
}
console.log(formatTable(rows));
if (footprints.length > 0) console.log(`\n${formatFootprints(footprints)}`);
const results = join(import.meta.dirname, 'results');
await mkdir(results, { recursive: true });
const report = {
  at: new Date(),
  engine,
  rows: rows.map((row) => ({ ...row, ratio: ratio(row) })),
  footprints: footprints.map((footprint) => ({ ...footprint, ...summarize(footprint) })),
};
await writeFile(
  join(results, `${report.at.toISOString().replaceAll(':', '')}.json`),
  `${JSON.stringify(report, null, 2)}\n`,
);
