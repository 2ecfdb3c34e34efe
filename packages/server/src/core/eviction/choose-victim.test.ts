import { describe, expect, test } from 'vitest';
import { defaultHeadroom } from '../admission/capacity.ts';
import { type Candidate, chooseVictim, shortagesOf } from './choose-victim.ts';

const mebibyte = 1024 ** 2;
const gibibyte = 1024 ** 3;
const enough = {
  diskFreeBytes: 100 * gibibyte,
  memoryAvailableBytes: 20 * gibibyte,
  machinesMemoryLeftBytes: Number.POSITIVE_INFINITY,
  serviceBytes: 200 * mebibyte,
};
const sandbox = (sandboxId: string, accountId: string, memoryMib: number, diskMib = 0): Candidate => ({
  sandboxId,
  accountId,
  memoryBytes: memoryMib * mebibyte,
  diskBytes: diskMib * mebibyte,
});

describe('what is short', () => {
  test('disk before its reserve is touched, memory below its reserve or near the limit of all machines', () => {
    expect(shortagesOf(enough, defaultHeadroom)).toEqual([]);
    expect(shortagesOf({ ...enough, diskFreeBytes: 2.5 * gibibyte }, defaultHeadroom)).toEqual([]);
    expect(shortagesOf({ ...enough, diskFreeBytes: 2.4 * gibibyte }, defaultHeadroom)).toEqual(['disk']);
    expect(shortagesOf({ ...enough, memoryAvailableBytes: gibibyte - 1 }, defaultHeadroom)).toEqual(['memory']);
    expect(shortagesOf({ ...enough, machinesMemoryLeftBytes: 100 * mebibyte }, defaultHeadroom)).toEqual(['memory']);
    expect(shortagesOf({ ...enough, diskFreeBytes: 0, memoryAvailableBytes: 0 }, defaultHeadroom)).toEqual([
      'disk',
      'memory',
    ]);
  });

  test('not memory, if the service itself holds what is missing', () => {
    const short = { ...enough, memoryAvailableBytes: 500 * mebibyte };
    expect(shortagesOf(short, defaultHeadroom)).toEqual(['memory']);
    expect(shortagesOf({ ...short, serviceBytes: 900 * mebibyte }, defaultHeadroom)).toEqual([]);
    expect(shortagesOf({ ...short, serviceBytes: 700 * mebibyte }, defaultHeadroom)).toEqual(['memory']);
  });

  test('nothing without reserves, however full the host is', () => {
    const noReserve = { ...defaultHeadroom, diskReserveBytes: 0, memoryReserveBytes: 0 };
    expect(shortagesOf({ ...enough, diskFreeBytes: 0, memoryAvailableBytes: 0 }, noReserve)).toEqual([]);
  });
});

describe('who makes room', () => {
  test('for disk: the sandbox that wrote most, in any account', () => {
    const candidates = [sandbox('a', 'one', 900, 70), sandbox('b', 'two', 10, 2_048), sandbox('c', 'one', 10, 2_000)];
    expect(chooseVictim('disk', candidates)).toEqual({
      sandboxId: 'b',
      reason: 'the host was running out of disk space, and this sandbox had written the most (2 GiB)',
    });
  });

  test('for memory: the largest sandbox of the account that uses most, not the largest sandbox of all', () => {
    const candidates = [
      sandbox('one-large', 'modest', 3_000),
      ...[1, 2, 3, 4].map((number) => sandbox(`part-${number}`, 'greedy', 1_000 + number)),
    ];
    expect(chooseVictim('memory', candidates)).toEqual({
      sandboxId: 'part-4',
      reason:
        'the host was running out of memory, and this account used the most (3.9 GiB, of which this sandbox 1,004 MiB)',
    });
  });

  test('nobody when no end of a sandbox would free anything', () => {
    expect(chooseVictim('disk', [sandbox('a', 'one', 5_000, 3)])).toBeUndefined();
    expect(chooseVictim('memory', [sandbox('a', 'one', 3, 5_000)])).toBeUndefined();
    expect(chooseVictim('disk', [])).toBeUndefined();
  });
});
