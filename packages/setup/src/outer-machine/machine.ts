import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import { initInImage } from './image.ts';

export interface OuterMachinePlan {
  readonly arch: 'arm64' | 'x64';
  readonly cpus: number;
  readonly memoryMib: number;
  readonly kernelPath: string;
  /** qcow2 layer above the root disk of the image. */
  readonly rootPath: string;
  readonly runDiskPath: string;
  /** Receives the messages of the outer kernel. */
  readonly consolePath: string;
  /** Receives the exit code of the command. */
  readonly resultPath: string;
}

/** The command line of the emulated machine that has virtualization extensions, and so a working /dev/kvm. Without a network. */
export function outerMachineArgv(plan: OuterMachinePlan): string[] {
  const { arch } = plan;
  const drive = (id: string, format: string, path: string) => {
    const file = { driver: 'file', filename: path };
    return ['-blockdev', JSON.stringify({ driver: format, 'node-name': id, file, cache: { 'no-flush': true } })];
  };
  return [
    ...['-name', 'mayfly-outer', '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ...['-machine', arch === 'arm64' ? 'virt,virtualization=on,gic-version=3' : 'q35'],
    // EL2 or SVM come with "max". What is slow to emulate is left out.
    ...['-cpu', arch === 'arm64' ? 'max,pauth=off,sve=off,sme=off,lpa2=off' : 'max,la57=off,erms=off,fsrm=off'],
    ...['-accel', 'tcg,thread=multi,tb-size=1024', '-smp', String(plan.cpus), '-m', `${plan.memoryMib}M`],
    ...['-rtc', 'base=utc', '-serial', `file:${plan.consolePath}`],
    // The kernel has a driver for NVMe built in, and needs a module for the second disk, so that their names do not depend on any order.
    ...drive('root', 'qcow2', plan.rootPath),
    ...['-device', 'nvme,serial=root,drive=root'],
    ...drive('run', 'raw', plan.runDiskPath),
    ...['-device', 'virtio-blk-pci,drive=run'],
    ...['-object', 'rng-random,id=rng,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng'],
    ...['-device', 'virtio-serial-pci'],
    ...['-chardev', 'stdio,id=log,signal=off', '-device', 'virtserialport,chardev=log,name=mayfly.log'],
    ...[
      '-chardev',
      `file,id=result,path=${plan.resultPath}`,
      '-device',
      'virtserialport,chardev=result,name=mayfly.result',
    ],
    ...['-kernel', plan.kernelPath, '-append', kernelCommandLine(arch)],
  ];
}

function kernelCommandLine(arch: 'arm64' | 'x64'): string {
  return [
    `console=${arch === 'arm64' ? 'ttyAMA0' : 'ttyS0'} root=/dev/nvme0n1 rw init=${initInImage}`,
    'panic=-1 mitigations=off nowatchdog audit=0 random.trust_cpu=on',
    // The emulated timer of an x86_64 CPU sometimes never fires after it was set to fire once, and the machine stands still. A periodic one goes on.
    ...(arch === 'x64' ? ['nohz=off highres=off'] : []),
  ].join(' ');
}

/** How the command in an outer machine ended. */
export type OuterResult =
  | { readonly kind: 'exited'; readonly code: number }
  /** The machine ended without a result, e.g. because its kernel failed. */
  | { readonly kind: 'machine failed'; readonly reason: string }
  | { readonly kind: 'out of time' };

/** The last messages of the outer kernel. */
export async function readConsoleTail(consolePath: string, lineCount = 30): Promise<string> {
  const text = await readFile(consolePath, 'utf8').catch(() => '');
  return text.trimEnd().split('\n').slice(-lineCount).join('\n');
}

export interface OuterRunOptions {
  readonly binary: string;
  readonly preloadPath: string | undefined;
  readonly deadlineMs: number;
  readonly signal: AbortSignal;
  /** Called with each line that the command prints. */
  readonly onLine: (line: string) => void;
}

/** Boots the outer machine and waits for its command. The machine is gone when this returns, and also when this process is killed. */
export async function runOuterMachine(plan: OuterMachinePlan, options: OuterRunOptions): Promise<OuterResult> {
  const { binary, preloadPath, deadlineMs, signal, onLine } = options;
  signal.throwIfAborted();
  const env = { ...process.env, ...(preloadPath ? { LD_PRELOAD: preloadPath } : {}) };
  const argv = ['--pdeathsig', 'KILL', binary, ...outerMachineArgv(plan)];
  // Standard input stays open: at its end QEMU would disconnect the port.
  const child = spawn('setpriv', argv, { env, stdio: 'pipe' });
  const errors: string[] = [];
  createInterface({ input: child.stdout }).on('line', onLine);
  createInterface({ input: child.stderr }).on('line', (line) => errors.push(line));
  let expired = false;
  const kill = () => child.kill('SIGKILL');
  const expire = () => {
    expired = true;
    kill();
  };
  const deadline = setTimeout(expire, deadlineMs);
  signal.addEventListener('abort', kill);
  try {
    const [code] = await untilClosed(child);
    signal.throwIfAborted();
    if (expired) return { kind: 'out of time' };
    const result = (await readFile(plan.resultPath, 'utf8').catch(() => '')).trim();
    if (/^\d+$/.test(result)) return { kind: 'exited', code: Number(result) };
    return { kind: 'machine failed', reason: errors.slice(-10).join('\n') || `QEMU ended with exit code ${code}` };
  } finally {
    clearTimeout(deadline);
    signal.removeEventListener('abort', kill);
  }
}

async function untilClosed(child: ChildProcess): Promise<[number | null]> {
  return (await once(child, 'close')) as [number | null];
}
