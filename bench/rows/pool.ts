import { inTurns, timed } from '../support/measure.ts';
import type { Stage } from '../support/stage.ts';
import type { Row } from '../support/table.ts';
import { restoreBare } from './restore-bare.ts';

const rounds = 9;
const together = 20;
const yardstick = 'bare restore to first answer';

const create = async (stage: Stage): Promise<string> =>
  ((await stage.call('POST', '/sandboxes', 201)) as { id: string }).id;

const createAndEcho = async (stage: Stage): Promise<string> => {
  const id = await create(stage);
  await stage.call('POST', `/sandboxes/${id}/exec`, 200, { command: 'echo hello' });
  return id;
};

/** Does it once the pool is full and deletes what it made; how long it took. */
const claimed = async (stage: Stage, work: () => Promise<string>): Promise<number> => {
  await stage.poolFull();
  const { ms, result } = await timed(work);
  await stage.call('DELETE', `/sandboxes/${result}`, 200);
  await stage.poolFull();
  return ms;
};

/** Creates that claim a machine from the pool, alone and with a first command, and twenty of them at once. */
export const poolRows = async (stage: Stage): Promise<Row[]> => {
  const bare = () => restoreBare(stage, 'small');
  const claim = await inTurns(rounds, () => claimed(stage, () => create(stage)), bare);
  const echo = await inTurns(rounds, () => claimed(stage, () => createAndEcho(stage)), bare);
  await stage.poolFull();
  const { ms, result } = await timed(() => Promise.all(Array.from({ length: together }, () => createAndEcho(stage))));
  await Promise.all(result.map((id) => stage.call('DELETE', `/sandboxes/${id}`, 200)));
  const each = { measuredMs: ms / together, yardstickMs: echo.yardstickMs };
  return [
    { name: 'create from the pool', yardstick, aim: 0.25, ...claim },
    { name: 'create from the pool → echo', yardstick, ...echo },
    { name: `create → echo, ${together} at once, per sandbox`, yardstick, ...each },
  ];
};
