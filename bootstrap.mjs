// What `npm start`, `npm test`, `npm run bench` and the rest run: plain JavaScript for whatever Node.js (18 or newer) the machine has.
// It brings the npm packages, among them the project's own Node.js 24, and hands over to packages/setup/src/main.ts on that.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  accessSync,
  existsSync,
  mkdirSync,
  constants as modes,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const self = fileURLToPath(import.meta.url);
const root = dirname(self);
const modules = join(root, 'node_modules');
const stampPath = join(modules, '.mayfly-install');
const lockPath = join(root, '.mayfly', 'install.lock');
const startedPath = join(root, '.mayfly', 'install.started');
const projectNode = join(modules, `node-linux-${process.arch}`, 'bin', 'node');
const installCommand = 'install-under-lock';
const waitSeconds = 20 * 60;
const busyCode = 75;
const heartbeatMs = 10_000;
const keptOutput = 20_000;
const shownLines = 40;
const minimumFreeBytes = 1.5 * 2 ** 30;

refuseUnsupportedHosts();
if (process.argv[2] === installCommand) {
  await installUnderLock();
} else {
  await ensurePackages();
  process.exitCode = await handOver(process.argv.slice(2));
}

function refuseUnsupportedHosts() {
  if (process.platform !== 'linux') {
    fail(`Mayfly needs Linux (this is ${process.platform}). Run it on a Linux machine or in a Linux virtual machine.`);
  }
  if (process.arch !== 'arm64' && process.arch !== 'x64') {
    fail(`Mayfly needs a 64-bit ARM or x86 processor (this is ${process.arch}). Run it on an arm64 or x86_64 machine.`);
  }
  if (Number(process.versions.node.split('.')[0]) < 18) {
    fail(`Mayfly needs Node.js 18 or newer to start itself (this is ${process.version}). Install a newer Node.js.`);
  }
}

/** Without packages there is nothing that could say more: who may not write here cannot be root either. */
function refuseUnwritableCheckout() {
  try {
    for (const folder of [root, modules, dirname(lockPath)]) if (existsSync(folder)) accessSync(folder, modes.W_OK);
  } catch {
    fail(
      `Mayfly needs root, and to write in ${root} (its npm packages go there). Run it with sudo: sudo npm ${process.argv[2] === 'bench' ? 'run bench' : (process.argv[2] ?? 'start')}`,
    );
  }
}

/** Installs the npm packages unless they are there as the lock file says; of two at once one installs and the other waits. */
async function ensurePackages() {
  if (isInstalled()) return;
  refuseUnwritableCheckout();
  mkdirSync(dirname(lockPath), { recursive: true });
  // A kernel lock, held by the process that installs and gone with it.
  const underLock = (...options) => ['--no-fork', ...options, lockPath, process.execPath, self, installCommand];
  const inherit = { cwd: root, stdio: 'inherit' };
  let end = await ending(
    spawn('flock', underLock('--nonblock', '--conflict-exit-code', `${busyCode}`), inherit),
    'flock',
  );
  if (end.code === busyCode && !end.interrupted) {
    say('  npm packages: waiting for another set-up that is installing them');
    end = await ending(spawn('flock', underLock('--timeout', `${waitSeconds}`), inherit), 'flock');
  }
  if (end.code !== 0 || end.interrupted) process.exit(end.code || 1);
}

/** The part of it that runs under the lock. */
async function installUnderLock() {
  if (isInstalled()) return;
  // npm takes a package that was half unpacked when it was killed for a whole one: start from nothing then.
  if (existsSync(startedPath)) rmSync(modules, { recursive: true, force: true });
  writeFileSync(startedPath, `${process.pid}\n`);
  rmSync(stampPath, { force: true });
  const inputs = hashInputs();
  await install();
  const temporary = `${stampPath}.${process.pid}`;
  writeFileSync(temporary, `${inputs}\n`);
  renameSync(temporary, stampPath);
  rmSync(startedPath);
}

function isInstalled() {
  return existsSync(projectNode) && readText(stampPath).trim() === hashInputs();
}

/** Hash of the lock file and of every package.json of the project. */
function hashInputs() {
  const packages = readdirSync(join(root, 'packages')).sort();
  const paths = [
    'package-lock.json',
    'package.json',
    ...packages.map((name) => join('packages', name, 'package.json')),
  ];
  const hash = createHash('sha256').update(process.arch);
  for (const path of paths) hash.update(`\0${path}\0${readText(join(root, path))}`);
  return hash.digest('hex');
}

async function install() {
  const disk = statfsSync(root);
  if (disk.bavail * disk.bsize < minimumFreeBytes) {
    fail(`Mayfly needs 1.5 GiB of free disk for its npm packages in ${root}. Free some space, then try again.`);
  }
  const startedMs = Date.now();
  const elapsed = () => `${Math.round((Date.now() - startedMs) / 1000)} s`;
  say('▸ npm packages …');
  const heartbeat = setInterval(() => say(`▸ npm packages … ${elapsed()}`), heartbeatMs);
  // Whatever npm is told around us, development packages and the Node.js of this machine's kind are needed.
  const env = { ...process.env, NODE_ENV: 'development', npm_config_omit: '' };
  // Not `npm ci`: it refuses a lock file that was made where packages for other systems cannot be had.
  const what = ['install', '--no-save', '--include=dev', '--include=optional'];
  const args = [...what, '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  const child = spawn('npm', args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
  let output = '';
  const collect = (bytes) => {
    if (output.length < keptOutput) output += bytes;
  };
  child.stdout.on('data', collect);
  child.stderr.on('data', collect);
  const end = await ending(child, 'npm');
  clearInterval(heartbeat);
  if (end.interrupted) process.exit(end.code);
  if (end.code !== 0 || !existsSync(projectNode)) {
    // npm says what is wrong first and explains its options after.
    say(output.trimEnd().split('\n').slice(0, shownLines).join('\n'));
    const missing = end.code === 0 ? `It did not bring ${projectNode}.` : `npm install ended with code ${end.code}.`;
    fail(`✗ npm packages … ${elapsed()}. ${missing} Check the network and npm's registry setting, then try again.`);
  }
  say(`✓ npm packages … ${elapsed()}`);
}

/** Runs the set-up on the project's own Node.js and gives back its exit code. */
async function handOver(args) {
  const flags = ['--disable-warning=ExperimentalWarning'];
  const env = { ...process.env, PATH: `${join(modules, '.bin')}:${process.env.PATH ?? ''}` };
  const main = join(root, 'packages', 'setup', 'src', 'main.ts');
  const child = spawn(projectNode, [...flags, main, ...args], { env, stdio: 'inherit' });
  return (await ending(child, projectNode)).code;
}

/** How a child ended. Signals to us reach it once: a terminal's Ctrl-C gets there by itself, anything else is passed on. */
function ending(child, name) {
  let interrupted = false;
  const pass = (signal) => {
    interrupted = true;
    if (signal === 'SIGINT' && process.stdin.isTTY) return;
    child.kill(signal);
  };
  process.on('SIGINT', pass).on('SIGTERM', pass).on('SIGHUP', pass);
  return new Promise((resolve) => {
    child.on('error', (error) => fail(`${name} could not be started: ${error.message}`));
    child.on('close', (code, signal) => {
      process.off('SIGINT', pass).off('SIGTERM', pass).off('SIGHUP', pass);
      resolve({ code: code ?? 128 + constants.signals[signal], interrupted });
    });
  });
}

function readText(path) {
  return existsSync(path) ? readFileSync(path, 'utf8') : '';
}

function say(line) {
  process.stderr.write(`${line}\n`);
}

function fail(message) {
  say(message);
  process.exit(1);
}
