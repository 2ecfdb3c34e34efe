import { type SizeName, sizeNames } from '@mayfly/contract';
import type { BenchHost } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';
import { restoreWithoutService } from './restore-without-service.ts';

const rounds = 7;

async function create(bench: BenchHost, size: SizeName): Promise<number> {
  const { ms, result } = await timed(() => bench.call('POST', '/sandboxes', 201, { size }));
  const { id } = result as { id: string };
  await bench.call('DELETE', `/sandboxes/${id}`, 200);
  return ms;
}

/** Creating a sandbox of each size, compared with restoring its template without a service. */
export async function createRows(bench: BenchHost): Promise<Row[]> {
  const rows: Row[] = [];
  for (const size of sizeNames) {
    const medians = await alternate(
      rounds,
      () => create(bench, size),
      () => restoreWithoutService(bench, size),
    );
    rows.push({ name: `create ${size}`, baseline: 'bare restore to first answer', target: 1.3, ...medians });
  }
  return rows;
}
