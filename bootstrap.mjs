// Entry point of `npm start`, `npm test` and the other scripts. Plain JavaScript that runs on the host's own Node.js (18 or newer).
// It installs the npm packages, including the project's own Node.js 24, and runs packages/setup/src/main.ts with that Node.js.
import { spawn } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  constants as accessModes,
  accessSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statfsSync,
  writeFileSync,
} from 'node:fs';
import { constants } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const self = fileURLToPath(import.meta.url);
const root = dirname(self);
const modules = join(root, 'node_modules');
const stampPath = join(modules, '.mayfly-install');
const lockPath = join(root, '.mayfly', 'install.lock');
const startedPath = join(root, '.mayfly', 'install.started');
const projectNode = join(modules, `node-linux-${process.arch}`, 'bin', 'node');
/** Internal command: this program runs itself under the install lock. */
const installCommand = 'install-under-lock';
/** The parts of a package.json that decide what npm installs. */
const installFields = ['dependencies', 'devDependencies', 'optionalDependencies', 'overrides', 'workspaces', 'bin'];
const lockWaitSeconds = 20 * 60;
/** Exit code of flock when another process holds the lock. */
const lockBusyCode = 75;
const progressMs = 10_000;
const parentCheckMs = 1_000;
const maxOutputCharacters = 20_000;
const shownLines = 40;
const minimumFreeBytes = 1.5 * 2 ** 30;

refuseUnsupportedHosts();
if (process.argv[2] === installCommand) {
  await installUnderLock();
} else {
  await ensurePackages();
  process.exitCode = await runSetup(process.argv.slice(2));
}

function refuseUnsupportedHosts() {
  if (process.platform !== 'linux') {
    fail(`Mayfly needs Linux (this is ${process.platform}). Run it on a Linux machine or in a Linux virtual machine.`);
  }
  if (process.arch !== 'arm64' && process.arch !== 'x64') {
    fail(`Mayfly needs a 64-bit ARM or x86 processor (this is ${process.arch}). Run it on an arm64 or x86_64 machine.`);
  }
  if (Number(process.versions.node.split('.')[0]) < 18) {
    fail(`Mayfly needs Node.js 18 or newer (this is ${process.version}). Install a newer Node.js, then try again.`);
  }
}

/** Set-up itself checks for root, but it cannot run before the packages are installed. */
function refuseReadOnlyCheckout() {
  try {
    for (const folder of [root, modules, dirname(lockPath)]) {
      if (existsSync(folder)) accessSync(folder, accessModes.W_OK);
    }
  } catch {
    const command = process.argv[2] ?? 'start';
    if (command === 'check') {
      fail(`The check needs write access to ${root} for its npm packages. Run it in a checkout of your own.`);
    }
    const npmCommand = command === 'start' || command === 'test' ? command : `run ${command}`;
    fail(
      `Mayfly needs root, and write access to ${root} for its npm packages. Run it with sudo: sudo npm ${npmCommand}`,
    );
  }
}

/** Installs the npm packages unless they match the lock file. If two processes need them, one installs and the other waits. */
async function ensurePackages() {
  if (isInstalled()) return;
  refuseReadOnlyCheckout();
  // Every user who may open the lock file could hold it.
  mkdirSync(dirname(lockPath), { recursive: true, mode: 0o700 });
  // The kernel releases the lock when the installing process ends.
  const underLock = (...options) => ['--no-fork', ...options, lockPath, process.execPath, self, installCommand];
  const inherit = { cwd: root, stdio: 'inherit' };
  let end = await waitForExit(
    spawn('flock', underLock('--nonblock', '--conflict-exit-code', `${lockBusyCode}`), inherit),
    'flock',
  );
  if (end.code === lockBusyCode && !end.interrupted) {
    say('  npm packages: waiting for another set-up that is installing them');
    end = await waitForExit(spawn('flock', underLock('--timeout', `${lockWaitSeconds}`), inherit), 'flock');
  }
  if (end.code !== 0 || end.interrupted) process.exit(end.code || 1);
}

async function installUnderLock() {
  if (isInstalled()) return;
  // npm does not notice a package that was only partly unpacked when it was killed, so an interrupted install starts over.
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

/** Hash of the lock file and of what every package.json of the project asks npm to install. */
function hashInputs() {
  const packages = readdirSync(join(root, 'packages')).sort();
  const hash = createHash('sha256').update(process.arch);
  hash.update(readText(join(root, 'package-lock.json')));
  for (const path of ['package.json', ...packages.map((name) => join('packages', name, 'package.json'))]) {
    const text = readText(join(root, path));
    const fields = text === '' ? {} : JSON.parse(text);
    hash.update(`\0${path}\0${JSON.stringify(installFields.map((name) => fields[name] ?? null))}`);
  }
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
  const progress = setInterval(() => say(`▸ npm packages … ${elapsed()}`), progressMs);
  // Development and optional packages are needed whatever the environment tells npm: the project's Node.js is one of them.
  const env = { ...process.env, NODE_ENV: 'development', npm_config_omit: '' };
  // `npm ci` would refuse a lock file that was written where packages for other platforms are not available, so the result is compared instead.
  const what = ['install', '--no-save', '--include=dev', '--include=optional'];
  // Nothing that is installed needs its scripts, and they would run as root.
  const args = [...what, '--ignore-scripts', '--no-audit', '--no-fund', '--no-update-notifier', '--loglevel=error'];
  let output = '';
  const collect = (bytes) => {
    if (output.length < maxOutputCharacters) output += bytes;
  };
  const run = (program, words) => {
    const child = spawn(program, words, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] });
    child.stdout.on('data', collect);
    child.stderr.on('data', collect);
    return waitForExit(child, 'npm');
  };
  let end = await run('npm', args);
  // npm leaves out programs for this platform that need a newer Node.js than the host's own. The project's Node.js, which it has just installed, runs them.
  const script = npmScript();
  const isIncomplete = end.code === 0 && !end.interrupted && missingPrograms().length > 0;
  if (isIncomplete && existsSync(projectNode) && script !== undefined) {
    // Debian's Node.js trusts the certificate authorities of the host. Others trust only the ones built in, unless told.
    end = await run(projectNode, ['--use-system-ca', script, ...args]);
  }
  clearInterval(progress);
  if (end.interrupted) process.exit(end.code);
  if (end.code !== 0 || !existsSync(projectNode)) {
    // npm prints the error first and explanations after it.
    say(output.trimEnd().split('\n').slice(0, shownLines).join('\n'));
    const reason =
      end.code === 0 ? `npm install did not install ${projectNode}.` : `npm install failed with exit code ${end.code}.`;
    fail(`✗ npm packages … ${elapsed()}. ${reason} Check the network and npm's registry setting, then try again.`);
  }
  const different = differencesFromLock();
  if (different.length > 0) {
    fail(
      `✗ npm packages … ${elapsed()}. The installed packages are not those that package-lock.json lists: ${different.slice(0, 5).join(', ')}. Restore package-lock.json, then try again.`,
    );
  }
  const missing = missingPrograms();
  if (missing.length > 0) {
    fail(
      `✗ npm packages … ${elapsed()}. Programs for this platform were not installed: ${missing.slice(0, 5).join(', ')}. Check the network, or install Node.js 22 or newer with its npm, then try again.`,
    );
  }
  say(`✓ npm packages … ${elapsed()}`);
}

/** Names every package that is installed but not in the lock file, or with other contents, and every one that is missing. */
function differencesFromLock() {
  const listed = packagesIn(join(root, 'package-lock.json'));
  const installed = packagesIn(join(modules, '.package-lock.json'));
  const isSame = (one, other) => one.version === other?.version && one.integrity === other?.integrity;
  const foreign = Object.keys(installed).filter((path) => !isSame(installed[path], listed[path]));
  // Optional packages are for other platforms. A project's own packages are links, which have no integrity.
  const isNeeded = ({ integrity, optional }) => integrity !== undefined && !optional;
  const missing = Object.keys(listed).filter((path) => isNeeded(listed[path]) && installed[path] === undefined);
  return [...foreign, ...missing];
}

/** The listed packages with programs for this platform that are not installed. */
function missingPrograms() {
  const installed = packagesIn(join(modules, '.package-lock.json'));
  const fits = (wanted, own) => wanted === undefined || [wanted].flat().includes(own);
  const isForThis = ({ optional, cpu, os, libc }) =>
    optional && cpu !== undefined && fits(cpu, process.arch) && fits(os, process.platform) && fits(libc, 'glibc');
  const listed = Object.entries(packagesIn(join(root, 'package-lock.json')));
  return listed.filter(([path, entry]) => isForThis(entry) && installed[path] === undefined).map(([path]) => path);
}

/** npm's own script, so that another Node.js can run it; undefined if the npm on the PATH is something else. */
function npmScript() {
  const folders = (process.env.PATH ?? '').split(delimiter);
  const found = folders.map((folder) => join(folder, 'npm')).find((path) => existsSync(path));
  const path = found === undefined ? undefined : realpathSync(found);
  return path?.endsWith('.js') ? path : undefined;
}

/** The packages that a lock file of npm lists, by path. */
function packagesIn(lockFile) {
  const text = readText(lockFile);
  return text === '' ? {} : JSON.parse(text).packages;
}

/** Runs set-up with the project's own Node.js and returns its exit code. */
async function runSetup(args) {
  const flags = ['--disable-warning=ExperimentalWarning'];
  // Its own folder too: not every npm links it into the folder of programs.
  const folders = [join(modules, '.bin'), dirname(projectNode), process.env.PATH ?? ''];
  const env = { ...process.env, PATH: folders.join(delimiter) };
  const main = join(root, 'packages', 'setup', 'src', 'main.ts');
  const child = spawn(projectNode, [...flags, main, ...args], { env, stdio: 'inherit' });
  return (await waitForExit(child, projectNode)).code;
}

/**
 * Waits for a child and forwards signals to it. It may get one more than once (a terminal signals the whole process group), which
 * the service and set-up tolerate. npm forwards SIGINT and SIGTERM but not SIGHUP, so the end of npm counts as a SIGHUP.
 */
function waitForExit(child, name) {
  let interrupted = false;
  const forward = (signal) => {
    interrupted = true;
    child.kill(signal);
  };
  const parent = process.ppid;
  const checkParent = () => {
    if (process.ppid === parent) return;
    clearInterval(parentCheck);
    forward('SIGHUP');
  };
  const parentCheck = process.env.npm_lifecycle_event ? setInterval(checkParent, parentCheckMs) : undefined;
  process.on('SIGINT', forward).on('SIGTERM', forward).on('SIGHUP', forward);
  return new Promise((resolve) => {
    child.on('error', (error) => fail(`${name} could not be started: ${error.message}`));
    child.on('close', (code, signal) => {
      clearInterval(parentCheck);
      process.off('SIGINT', forward).off('SIGTERM', forward).off('SIGHUP', forward);
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
