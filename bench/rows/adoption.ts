import { join } from 'node:path';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import type { BenchHost } from '../support/bench-host.ts';
import { alternate, timed } from '../support/measure.ts';
import type { Row } from '../support/table.ts';
import { restoreWithoutService } from './restore-without-service.ts';

const rounds = 3;
const count = 20;
const attachMs = 60_000;

/** Adopting machines after a restart until all of their agents answer, compared with restoring one. */
export async function adoptionRow(bench: BenchHost): Promise<Row> {
  const dataDir = join(bench.folder, 'adoption');
  let driver = await bench.openDriver(dataDir);
  await driver.adopt();
  let machines: readonly QemuMachine[] = [];
  for (let index = 0; index < count; index += 1) {
    machines = [...machines, await driver.launch({ id: `adopted-${index}`, size: 'small' })];
  }
  const adoptAll = async (): Promise<number> => {
    for (const machine of machines) machine.detach();
    await driver[Symbol.asyncDispose]();
    const { ms, result } = await timed(async () => {
      driver = await bench.openDriver(dataDir);
      machines = await driver.adopt();
      return await Promise.all(machines.map((machine) => bench.connector.attach(machine, attachMs)));
    });
    if (result.length !== count) throw new Error(`${result.length} of ${count} machines were adopted`);
    for (const agent of result) agent.close();
    return ms;
  };
  try {
    const medians = await alternate(rounds, adoptAll, () => restoreWithoutService(bench, 'small'));
    return { name: `adopt ${count} machines`, baseline: 'bare restore to first answer', ...medians };
  } finally {
    await Promise.all(machines.map((machine) => machine.destroy()));
    await driver[Symbol.asyncDispose]();
  }
}
