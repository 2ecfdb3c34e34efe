import { execFileSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { listRepository, readChanges } from './changes.ts';

let root: string;
const git = (...args: string[]) =>
  execFileSync('git', ['-c', 'user.name=test', '-c', 'user.email=test@localhost', ...args], { cwd: root });
const write = (name: string, text = name) => writeFileSync(join(root, name), text);
const commit = (...names: string[]) => {
  for (const name of names) write(name);
  git('add', '--all');
  git('commit', '--quiet', '--allow-empty', '--message', names.join(' '));
};

function hasGit(): boolean {
  try {
    execFileSync('git', ['--version']);
    return true;
  } catch {
    return false;
  }
}

describe.runIf(hasGit())('in a checkout', () => {
  beforeEach(() => {
    root = mkdtempSync(join(tmpdir(), 'mayfly-changes-'));
    git('init', '--quiet', '--initial-branch', 'main');
    commit('first', 'kept');
  });
  afterEach(() => rmSync(root, { recursive: true }));

  it('changes since a commit are committed, staged, unstaged, deleted, renamed and untracked files', async () => {
    commit('second');
    write('staged');
    git('add', 'staged');
    write('second', 'changed');
    git('mv', 'kept', 'renamed');
    rmSync(join(root, 'first'));
    write('untracked ü');
    const { since, files } = await readChanges(root, 'HEAD~1');
    expect(since).toMatch(/^HEAD~1 \([0-9a-f]{10}\)$/);
    expect(files).toEqual(['first', 'kept', 'renamed', 'second', 'staged', 'untracked ü']);
    expect(await listRepository(root)).toEqual(['renamed', 'second', 'staged', 'untracked ü']);
  });

  it('ignored files do not count', async () => {
    write('.gitignore', '*.log\n');
    write('run.log');
    expect((await readChanges(root, 'HEAD')).files).toEqual(['.gitignore']);
  });

  it('without a commit they are those since the last push, or since HEAD~1', async () => {
    commit('pushed');
    git('branch', 'upstream');
    commit('second');
    commit('third');
    expect((await readChanges(root, undefined)).files).toEqual(['third']);
    git('branch', '--quiet', '--set-upstream-to', 'upstream');
    expect((await readChanges(root, undefined)).files).toEqual(['second', 'third']);
  });

  it('an unknown commit is refused', async () => {
    await expect(readChanges(root, '--output=x')).rejects.toThrow('There is no commit "--output=x"');
  });
});
