import { execFileSync } from 'node:child_process';
import { chmod, mkdir, mkdtempDisposable, open, readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createGuestConnector } from '#server/guest/connector.ts';
import { BootStalled } from '#server/machines/qemu/template/boot-watch.ts';
import { buildTemplate, type WarmUp } from '#server/machines/qemu/template/build.ts';
import { openTemplate, type Template, templateKey } from '#server/machines/qemu/template/template.ts';
import { goCommand } from '#server-test/network/go-tools.ts';
import { ensureEntry } from '#setup/cache/entry.ts';
import { digestFolder, hashValues } from '#setup/cache/keys.ts';
import { readEnvironment } from '#setup/environment.ts';
import { packCpio } from '#setup/steps/initramfs.ts';
import { preparedHost } from '../support/prepared-host.ts';

const agentFolder = join(import.meta.dirname, 'agent');
/** Precedes the mode in the agent's memory; see agent/mode_slot.go. */
const mark = Buffer.from('mayfly-hostile-armed-here-is-the-mode:');
const modeBytes = 64;
/** Ten times what an emulated boot takes. */
const bootMs = 240_000;

/** Waits for the agent and runs a command. Unlike the real warm-up, it does not optimise for speed. */
const warmUp: WarmUp = async (openChannel) => {
  const openAgentChannel = (signal?: AbortSignal) => openChannel(signal ?? AbortSignal.timeout(bootMs));
  const startedMs = performance.now();
  const attached = createGuestConnector().attach({ id: 'hostile', openAgentChannel }, bootMs);
  const agent = await attached.catch((cause: unknown) => {
    // As in set-up, a boot that hangs is tried again.
    if (performance.now() - startedMs < 0.9 * bootMs) throw cause;
    throw new BootStalled(`The agent did not answer within ${bootMs / 1000} s`, { cause });
  });
  try {
    const { bootMs: tookMs } = await agent.hello();
    const request = { command: 'sleep 0', cwd: '/', env: {}, timeoutMs: 60_000, captureBytes: 100 };
    await agent.execute({ id: 'exec_warm', ...request });
    await agent.forgetExecution('exec_warm');
    return { bootMs: tookMs, uptimeMs: (await agent.stats()).uptimeMs };
  } finally {
    agent.close();
  }
};

/** The real initramfs, followed by an archive that replaces its agent: the kernel unpacks archives in order. */
async function buildInitrd(folder: string): Promise<string> {
  const agentPath = join(folder, 'hostile-agent');
  const env = { ...process.env, CGO_ENABLED: '0', GOPROXY: 'off' };
  execFileSync(goCommand, ['build', '-o', agentPath, '.'], { cwd: agentFolder, env });
  const init = packCpio([{ type: 'file', path: 'init', mode: 0o755, bytes: await readFile(agentPath) }]);
  const path = join(folder, 'initrd.img');
  await writeFile(path, Buffer.concat([await readFile(preparedHost().artifacts.initrdPath), init]));
  return path;
}

/** The offset of the mode in the memory of a saved machine. */
async function findMark(ramPath: string): Promise<number> {
  await using ram = await open(ramPath);
  const chunk = Buffer.alloc(16 * 1024 ** 2);
  for (let at = 0; ; at += chunk.length) {
    const { bytesRead } = await ram.read(chunk, 0, chunk.length, at);
    if (bytesRead === 0) throw new Error('the template does not contain the hostile agent');
    const found = chunk.subarray(0, bytesRead).indexOf(mark);
    if (found >= 0) return at + found + mark.length;
  }
}

/** A template of size small whose agent turns hostile on command. It is cached until its sources change. */
export async function ensureHostileTemplate(): Promise<Template> {
  const { engine, artifacts } = preparedHost();
  const { kernel, initrd, disks } = artifacts.keys;
  const sources = await digestFolder(agentFolder, (path) => /\.(go|mod)$/.test(path));
  const agent = hashValues({ recipe: '1', initrd, sources });
  const entry = { kind: 'test-hostile-template', key: templateKey(engine, 'small', [kernel, agent, disks]) };
  const { cacheDir } = readEnvironment(process.env);
  const folder = await ensureEntry(entry, {
    cacheDir,
    build: async (stagingDir) => {
      const { kernelPath, kernelVersion, diskPaths } = artifacts;
      await using initrdFolder = await mkdtempDisposable(join(tmpdir(), 'mayfly-hostile-'));
      const initrdPath = await buildInitrd(initrdFolder.path);
      await buildTemplate(
        { engine, size: 'small', kernelPath, kernelVersion, initrdPath, basePath: diskPaths.small, warmUp },
        stagingDir,
      );
      const { ramPath } = await openTemplate(stagingDir);
      await writeFile(join(stagingDir, 'mode-at'), String(await findMark(ramPath)));
    },
  });
  return await openTemplate(folder);
}

/** Copies the hostile template so that its machines are hostile from their first attach, in a mode that can be changed. */
export async function armTemplate(
  hostile: Template,
  folder: string,
): Promise<{ readonly template: Template; setMode(mode: string): Promise<void> }> {
  await mkdir(folder, { mode: 0o755 });
  execFileSync('cp', ['--recursive', '--sparse=always', `${hostile.folder}/.`, folder]);
  await chmod(folder, 0o755);
  const template = await openTemplate(folder);
  const modeAt = Number(await readFile(join(folder, 'mode-at'), 'utf8'));
  return {
    template,
    setMode: async (mode) => {
      await using ram = await open(template.ramPath, 'r+');
      const field = Buffer.alloc(modeBytes);
      field.write(mode);
      await ram.write(field, 0, field.length, modeAt);
    },
  };
}
