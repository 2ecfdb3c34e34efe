import { type SizeName, sizeNames } from '@mayfly/contract';
import { inTurns, timed } from '../support/measure.ts';
import type { Stage } from '../support/stage.ts';
import type { Row } from '../support/table.ts';
import { restoreBare } from './restore-bare.ts';

const rounds = 7;

const create = async (stage: Stage, size: SizeName): Promise<number> => {
  const { ms, result } = await timed(() => stage.call('POST', '/sandboxes', 201, { size }));
  const { id } = result as { id: string };
  await stage.call('DELETE', `/sandboxes/${id}`, 200);
  return ms;
};

/** Creating a sandbox of each size against restoring its template without a service. */
export const createRows = async (stage: Stage): Promise<Row[]> => {
  const rows: Row[] = [];
  for (const size of sizeNames) {
    const medians = await inTurns(
      rounds,
      () => create(stage, size),
      () => restoreBare(stage, size),
    );
    rows.push({ name: `create ${size}`, yardstick: 'bare restore to first answer', aim: 1.3, ...medians });
  }
  return rows;
};
