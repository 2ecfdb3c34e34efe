import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { RecordedLog } from '../../test/recorded-log.ts';
import { StartFailure } from '../process/start-failure.ts';
import { SupervisedProcess } from './supervised-process.ts';

let folder: string;
let said: string[];
const running: SupervisedProcess[] = [];
beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'mayfly-supervised-'));
  said = [];
});
afterEach(() => {
  for (const supervised of running.splice(0)) supervised.kill();
  rmSync(folder, { recursive: true });
});

const shell = (script: string) => async (): Promise<ChildProcess> => spawn('sh', ['-c', script], { cwd: folder });

function supervise(start: () => Promise<ChildProcess>): SupervisedProcess {
  const supervised = new SupervisedProcess({
    name: 'test',
    start,
    log: new RecordedLog(),
    say: (line) => said.push(line),
  });
  running.push(supervised);
  return supervised;
}

const starts = () => readFileSync(join(folder, 'starts'), { encoding: 'utf8', flag: 'a+' }).split('\n').length - 1;

test('a process that is killed is started again, and the operator is told', async () => {
  const supervised = supervise(shell('echo >> starts; exec sleep 600'));
  await expect.poll(starts, { timeout: 20_000 }).toBe(1);
  process.kill(supervised.pid ?? 0, 'SIGKILL');
  await expect.poll(starts, { timeout: 20_000 }).toBe(2);
  expect(said).toEqual(['The test process ended (killed by SIGKILL). It is started again in 0.2 s.']);
  await supervised.stop();
  expect(await supervised.ended).toBe(0);
  expect(starts()).toBe(2);
});

test('a process that said why it cannot start ends the supervisor', async () => {
  expect(await supervise(shell('exit 78')).ended).toBe(1);
  expect(said).toEqual([]);
});

test('a process that mayfly-jail could not start ends the supervisor, unless it ran before', async () => {
  expect(await supervise(shell('exit 111')).ended).toBe(1);
  const supervised = supervise(shell('echo >> starts; [ $(wc -l < starts) = 1 ] && exit 139; exit 111'));
  await expect.poll(starts, { timeout: 20_000 }).toBe(3);
  expect(said.slice(0, 2)).toEqual([
    'The test process ended (killed by SIGSEGV). It is started again in 0.2 s.',
    'The test process could not be started. It is started again in 0.4 s.',
  ]);
  await supervised.stop();
});

test('a process that cannot start yet is started again, and the operator is told', async () => {
  const supervised = supervise(shell('echo >> starts; [ $(wc -l < starts) -lt 3 ] && exit 75; exec sleep 600'));
  await expect.poll(starts, { timeout: 20_000 }).toBe(3);
  expect(said).toEqual([
    'The test process cannot start yet. It is started again in 0.2 s.',
    'The test process cannot start yet. It is started again in 0.4 s.',
  ]);
  await supervised.stop();
});

test('a reason that the operator must remove ends the supervisor before anything is started', async () => {
  const attempt = () => Promise.reject(new StartFailure('Port 443 is used by another program.'));
  expect(await supervise(attempt).ended).toBe(1);
  expect(said).toEqual([]);
});

test('the same reason does not end the supervisor of a process that ran before, because it may go away', async () => {
  let attempts = 0;
  const supervised = supervise(async () => {
    attempts += 1;
    if (attempts > 1) throw new StartFailure('Port 443 is used by another program.');
    return spawn('sh', ['-c', 'exit 3']);
  });
  await expect.poll(() => attempts, { timeout: 20_000 }).toBeGreaterThan(2);
  await supervised.stop();
  expect(await supervised.ended).toBe(0);
});

test('a process that cannot even be started is tried again until the stop', async () => {
  let attempts = 0;
  const supervised = supervise(async () => {
    attempts += 1;
    throw new Error('no such program');
  });
  await expect.poll(() => attempts, { timeout: 20_000 }).toBeGreaterThan(1);
  expect(said[0]).toBe('The test process could not be started (no such program). It is started again in 0.2 s.');
  await supervised.stop();
  expect(await supervised.ended).toBe(0);
});
