import { mkdtempSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, it } from 'vitest';
import { type NetworkRecord, NetworkRecords } from './network-records.ts';

const stateDir = mkdtempSync(join(tmpdir(), 'mayfly-records-'));
const folder = join(stateDir, 'networks');
afterEach(() => rmSync(stateDir, { recursive: true, force: true }));

function record(owner: string): NetworkRecord {
  return { owner, egress: 'all', isApplied: true };
}

it('removes what a killed process of the same owner was writing, and nothing of others', async () => {
  const records = new NetworkRecords(stateDir);
  await records.write(1, record('/own'));
  for (const [slot, owner] of [[2, '/own'] as const, [3, '/other'] as const]) {
    await records.write(slot, record(owner));
    renameSync(join(folder, `${slot}.json`), join(folder, `${slot}.json.new`));
  }
  writeFileSync(join(folder, '4.json.new'), '');
  writeFileSync(join(folder, '5.json.new'), '{"own');
  utimesSync(join(folder, '5.json.new'), new Date(0), new Date(0));

  await records.removeUnfinished('/own');

  expect(readdirSync(folder).sort()).toEqual(['1.json', '3.json.new', '4.json.new']);
});
