import { expect, it } from 'vitest';
import { Debris } from './debris.ts';
import { Holdings } from './holdings.ts';
import { runStep } from './steps.ts';

/** Holdings of three things, and what was given back so far. */
const stand = () => {
  const given: string[] = [];
  const broken = new Set<string>();
  const holdings = new Holdings(runStep);
  const give = (name: string) => async () => {
    if (broken.has(name)) throw new Error(`${name} is stuck`);
    given.push(name);
  };
  holdings.hold('remove folder', give('folder'));
  holdings.hold('remove cgroup', give('cgroup'));
  holdings.hold('end process', give('process'));
  return { given, broken, holdings };
};

it('gives back in the reverse order, each once', async () => {
  const { given, holdings } = stand();
  await holdings.release();
  await holdings.release();
  expect(given).toEqual(['process', 'cgroup', 'folder']);
});

it('stops at what is stuck, and goes on from there', async () => {
  const { given, broken, holdings } = stand();
  broken.add('cgroup');
  await expect(holdings.release()).rejects.toThrow('cgroup is stuck');
  expect(given).toEqual(['process']);
  broken.clear();
  await holdings.release();
  expect(given).toEqual(['process', 'cgroup', 'folder']);
});

it('what another took over is given back by that one alone', async () => {
  const { given, holdings } = stand();
  const machine = new Holdings(runStep);
  machine.takeFrom(holdings);
  await holdings.release();
  expect(given).toEqual([]);
  await machine.release();
  expect(given).toHaveLength(3);
});

it('debris is tried again until it is gone', async () => {
  const events: string[] = [];
  const note = (_fields: object, event: string) => events.push(event);
  const debris = new Debris({ debug: note, info: note, warn: note, error: note });
  const { given, broken, holdings } = stand();
  broken.add('folder');
  await debris.clear(holdings);
  await debris.retry();
  expect([given, events]).toEqual([
    ['process', 'cgroup'],
    ['cleanup_failed', 'cleanup_failed'],
  ]);
  broken.clear();
  await debris.close();
  expect(given).toEqual(['process', 'cgroup', 'folder']);
});
