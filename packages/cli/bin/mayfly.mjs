#!/usr/bin/env node
// The `mayfly` command. Plain JavaScript that runs on Node.js 18 or newer and runs the CLI with the project's own Node.js 24.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync } from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = join(dirname(fileURLToPath(import.meta.url)), '..', '..', '..');
const projectNode = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
const main = join(root, 'packages', 'cli', 'src', 'main.ts');

if (!existsSync(projectNode)) {
  fail(`error: Mayfly is not set up in ${root}. Run npm start there first.`);
} else if (realpathSync(projectNode) === process.execPath) {
  await import(main);
} else {
  // The child has the streams and the terminal of this process, so nothing here may touch process.stdin.
  const child = spawn(projectNode, [main, ...process.argv.slice(2)], { stdio: 'inherit' });
  child.on('error', (error) => fail(`error: ${projectNode} could not be started: ${error.message}.`));
  child.on('close', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
  process.on('SIGINT', () => isInForeground() || child.kill('SIGINT'));
  process.on('SIGHUP', () => child.kill('SIGHUP'));
  process.on('SIGTERM', () => child.kill('SIGTERM'));
}

/** Whether Ctrl-C in a terminal reaches this process, and therefore its child as well. See proc_pid_stat(5): pgrp and tpgid. */
function isInForeground() {
  try {
    const stat = readFileSync('/proc/self/stat', 'utf8');
    const [, , group, , , foreground] = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
    return group === foreground;
  } catch {
    return false;
  }
}

function fail(message) {
  process.stderr.write(`${message}\n`);
  process.exitCode = 1;
}
