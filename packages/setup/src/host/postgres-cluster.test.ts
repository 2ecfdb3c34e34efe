import { expect, test } from 'vitest';
import { withoutMainCluster } from './postgres-cluster.ts';

test('the package is told to make no server, whatever else is set', () => {
  expect(withoutMainCluster('')).toBe('create_main_cluster = false\n');
  expect(withoutMainCluster("# comment\ncreate_main_cluster = true\nstart_conf = 'auto'\n")).toBe(
    "# comment\nstart_conf = 'auto'\ncreate_main_cluster = false\n",
  );
  expect(withoutMainCluster('#create_main_cluster = true\n')).toContain('\ncreate_main_cluster = false\n');
});
