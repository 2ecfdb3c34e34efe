#!/usr/bin/env node
// The `mayfly` command. Plain JavaScript that runs on Node.js 18 or newer and runs the CLI with the project's own Node.js 24.
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, statSync } from 'node:fs';
import module from 'node:module';
import { constants, homedir } from 'node:os';
import { dirname, isAbsolute, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const self = fileURLToPath(import.meta.url);
const root = join(dirname(self), '..', '..', '..');
const projectNode = join(root, 'node_modules', `node-linux-${process.arch}`, 'bin', 'node');
const main = join(root, 'packages', 'cli', 'src', 'main.ts');

if (!existsSync(projectNode)) {
  fail(`error: Mayfly is not set up in ${root}. Run npm start there first.`);
} else if (hasLostBytes()) {
  const advice = String.raw`Write its bytes for bash in the sandbox, as in: mayfly run "printf %s $'a\xffb'"`;
  fail(`error: An argument is not valid UTF-8. ${advice}`, 2);
} else if (realpathSync(projectNode) === process.execPath) {
  keepCompiledCode();
  await import(main);
} else {
  // The child has the streams and the terminal of this process, so nothing here may touch process.stdin.
  const child = spawn(projectNode, [self, ...process.argv.slice(2)], { stdio: 'inherit' });
  child.on('error', (error) => fail(`error: ${projectNode} could not be started: ${error.message}.`));
  child.on('close', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
  // A signal of the terminal reaches the child twice, which counts it once.
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(name, () => child.kill(name));
}

/** Lets Node.js keep the compiled code, which makes the next command start in half the time. */
function keepCompiledCode() {
  const folder = compiledCodeFolder();
  if (folder !== undefined) module.enableCompileCache(join(folder, 'compiled-code'));
}

/** A folder that only this user and root can write: the checkout's own, or the user's cache. Root believes no variable about its home. */
function compiledCodeFolder() {
  const own = join(root, '.mayfly');
  const uid = process.getuid();
  if (statSync(own, { throwIfNoEntry: false })?.uid === uid) return own;
  if (uid === 0) return undefined;
  const { XDG_CACHE_HOME: cache = join(homedir(), '.cache') } = process.env;
  return isAbsolute(cache) ? join(cache, 'mayfly') : undefined;
}

/** Whether an argument has bytes that are not text, which JavaScript replaces. */
function hasLostBytes() {
  if (!process.argv.some((argument) => argument.includes('\uFFFD'))) return false;
  const bytes = readFileSync('/proc/self/cmdline');
  return !Buffer.from(bytes.toString()).equals(bytes);
}

function fail(message, exitCode = 1) {
  process.stderr.write(`${message}\n`);
  process.exitCode = exitCode;
}
