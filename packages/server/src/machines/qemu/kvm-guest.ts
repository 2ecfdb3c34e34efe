import { ProgramFailed, runProgram } from '../../system/run-program.ts';
import { machineOptions, type QemuEngine } from './engine.ts';

/** The part of an engine that a trial needs. */
type TriedEngine = Pick<QemuEngine, 'arch' | 'acceleration' | 'binary' | 'cpuModel' | 'machineType'>;

/** A kernel without a disk gets as far as looking for one in two seconds. The host may itself be a virtual machine, or busy. */
const trialDeadlineMs = 120_000;

/** What the kernel prints when it has started and finds no disk. */
const started = /Kernel panic - not syncing: VFS/;

/** What QEMU prints when KVM gives a machine up. QEMU goes on after that, with a machine that stands still. */
const givenUp = /KVM internal error.*|kvm run failed.*/;

/** Why the guests' kernel does not run on a KVM. */
export interface UnusableKvm {
  readonly explanation: string;
  /** Whether the next trial would end the same way. Otherwise the host may just have been too busy. */
  readonly isLasting: boolean;
}

/**
 * Boots the guests' kernel on this host's KVM. Returns undefined if it runs. Some hosts have a KVM that creates machines but runs only kernels
 * that were made for it, such as PVM in a virtual machine without nested virtualization.
 */
export async function tryKernelOnKvm(
  engine: TriedEngine,
  kernelPath: string,
  signal?: AbortSignal,
): Promise<UnusableKvm | undefined> {
  const stop = new AbortController();
  const lines: string[] = [];
  const onLine = (line: string): void => {
    lines.push(line);
    if (givenUp.test(line)) stop.abort();
  };
  const ends = AbortSignal.any([stop.signal, ...(signal ? [signal] : [])]);
  const output = await runProgram(engine.binary, trialArguments(engine, kernelPath), {
    deadlineMs: trialDeadlineMs,
    signal: ends,
    onLine,
  }).catch((error: unknown) => {
    signal?.throwIfAborted();
    if (stop.signal.aborted || error instanceof ProgramFailed) return '';
    throw error;
  });
  if (started.test(output)) return undefined;
  const failure = givenUp.exec(lines.join('\n'))?.[0];
  const reason = failure ?? lines.at(-1) ?? 'it printed nothing';
  return {
    explanation: `/dev/kvm exists but the guests' kernel does not run on it (${reason}). Use a host with a processor that has virtualization extensions or, on a virtual machine, switch on nested virtualization in its hypervisor.`,
    isLasting: failure !== undefined,
  };
}

/**
 * Boots the kernel without a disk, on two CPUs, as every machine has at least. It panics, which ends QEMU. Like a machine's, it prints little:
 * every character on the serial port interrupts the guest, which is slow where KVM is nested.
 */
function trialArguments(engine: TriedEngine, kernelPath: string): string[] {
  const console = engine.arch === 'arm64' ? 'ttyAMA0' : 'ttyS0';
  return [
    ...['-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot', '-serial', 'stdio'],
    ...['-smp', '2', '-m', '512'],
    ...['-accel', 'kvm', '-machine', machineOptions(engine), '-cpu', engine.cpuModel],
    ...['-kernel', kernelPath, '-append', `console=${console} quiet loglevel=4 panic=-1`],
  ];
}
