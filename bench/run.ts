import { mkdir, writeFile } from 'node:fs/promises';
import { cpus } from 'node:os';
import { join } from 'node:path';
import { createAnnouncer } from '#setup/announce.ts';
import { readEnvironment } from '#setup/environment.ts';
import { prepare } from '#setup/prepare.ts';
import { adoptionRow } from './rows/adoption.ts';
import { bootRow } from './rows/boot.ts';
import { createRows } from './rows/create.ts';
import { execRows } from './rows/exec.ts';
import { fileRows } from './rows/files.ts';
import { poolRows } from './rows/pool.ts';
import { previewRows } from './rows/previews.ts';
import { requestRow } from './rows/requests.ts';
import { snapshotRows } from './rows/snapshots.ts';
import { twoProcessRows } from './rows/two-processes.ts';
import { startBenchHost } from './support/bench-host.ts';
import { formatTable, type Row, ratio } from './support/table.ts';

const announcer = createAnnouncer(process.stderr);
const environment = readEnvironment(process.env);
const host = await prepare({ environment, purpose: 'service', announcer, signal: new AbortController().signal });
await using bench = await startBenchHost(host);
const { engine } = host;
console.log(`${engine.arch}, ${cpus().length} cores, ${engine.acceleration}, QEMU ${engine.versionText}`);
const creates = await announcer.step('creates', () => createRows(bench));
const pooled = await announcer.step('pool', async () => {
  await using withPool = await startBenchHost(host, { MAYFLY_POOL: 'small=1' });
  return await poolRows(withPool);
});
const execs = await announcer.step('commands', () => execRows(bench));
const files = await announcer.step('files', () => fileRows(bench));
const previews = await announcer.step('previews', () => previewRows(bench));
const snapshots = await announcer.step('snapshots', () => snapshotRows(bench));
const apart = await announcer.step('two processes', () => twoProcessRows(bench));
const adoption = await announcer.step('adoption', () => adoptionRow(bench));
const requests = await announcer.step('requests', () => requestRow(bench));
const [createSmall] = creates;
const boots = createSmall ? [await announcer.step('cold boot', () => bootRow(bench, createSmall))] : [];
const rows: Row[] = [
  ...creates,
  ...pooled,
  ...execs,
  ...files,
  ...previews,
  ...snapshots,
  ...apart,
  adoption,
  requests,
  ...boots,
];
console.log(formatTable(rows));
const results = join(import.meta.dirname, 'results');
await mkdir(results, { recursive: true });
const report = { at: new Date(), engine, rows: rows.map((row) => ({ ...row, ratio: ratio(row) })) };
await writeFile(
  join(results, `${report.at.toISOString().replaceAll(':', '')}.json`),
  `${JSON.stringify(report, null, 2)}\n`,
);
