import { lstat, readFile } from 'node:fs/promises';
import { release } from 'node:os';
import { ProgramFailed, runProgram } from '../../system/run-program.ts';

/** Whether this host's KVM can be used, and with which model of the CPU. */
export type KvmSupport =
  | { readonly kind: 'works'; readonly cpuModel: string }
  | { readonly kind: 'absent' }
  /** The device exists but no machine can be created. The sentence says why and what to do. */
  | { readonly kind: 'broken'; readonly explanation: string };

export interface KvmTrial {
  /** QEMU's absolute path. */
  readonly binary: string;
  /** The value of -machine. */
  readonly machine: string;
  /** CPU models in order of preference. A model whose options the host's KVM does not know is passed over. */
  readonly cpuModels: readonly string[];
  /** The host's /dev/kvm when absent. */
  readonly devicePath?: string;
}

const defaultDevice = '/dev/kvm';

/** Creating a machine without running it takes a tenth of a second. */
const trialDeadlineMs = 30_000;

/** Finds out whether KVM works by creating a machine with it. That the device exists says little: it may have no driver or no permission. */
export async function tryKvm({
  binary,
  machine,
  cpuModels,
  devicePath = defaultDevice,
}: KvmTrial): Promise<KvmSupport> {
  const accelerator = devicePath === defaultDevice ? 'kvm' : `kvm,device=${devicePath}`;
  if (!(await lstat(devicePath).catch(() => undefined))) return { kind: 'absent' };
  let message = '';
  for (const cpuModel of cpuModels) {
    const model = ['-accel', accelerator, '-machine', machine, '-cpu', cpuModel];
    const args = ['-nodefaults', '-no-user-config', '-display', 'none', ...model, '-S', '-monitor', 'stdio'];
    try {
      await runProgram(binary, args, { input: 'quit\n', deadlineMs: trialDeadlineMs });
      return { kind: 'works', cpuModel };
    } catch (error) {
      if (!(error instanceof ProgramFailed)) throw error;
      message = error.message;
      if (!/Property '.*' not found/.test(message)) break;
    }
  }
  return { kind: 'broken', explanation: explainKvmFailure(devicePath, message) };
}

/** What KVM's failure means and what an operator can do. The text is QEMU's output. */
export function explainKvmFailure(devicePath: string, output: string): string {
  const [, reason] = /(?:Could not access KVM kernel module|failed to initialize kvm): (.+)/i.exec(output) ?? [];
  const problem = `${devicePath} exists but KVM does not work (${reason?.trim() ?? lastLine(output)}).`;
  return `${problem} ${remedyFor(output)}`;
}

const remedies: readonly { readonly pattern: RegExp; readonly remedy: string }[] = [
  {
    pattern: /permission denied|operation not permitted/i,
    remedy:
      'Let this process open it: in a container, pass the device in (for example --device /dev/kvm); otherwise look for a security module or a cgroup device policy that forbids it.',
  },
  {
    pattern: /no such device|no such file/i,
    remedy:
      "Load KVM's module (on x86_64: modprobe kvm_intel or modprobe kvm_amd). If that fails, switch on virtualization in the firmware or, on a virtual machine, nested virtualization in its hypervisor.",
  },
  {
    pattern: /resource busy/i,
    remedy: 'Another hypervisor, such as VirtualBox, holds the processor. Stop it.',
  },
];

function remedyFor(output: string): string {
  const known = remedies.find(({ pattern }) => pattern.test(output));
  return known?.remedy ?? 'See dmesg for messages of kvm, and unload and load its module (modprobe -r, modprobe).';
}

function lastLine(text: string): string {
  return text.trim().split('\n').at(-1)?.trim() ?? '';
}

/** The fields of /proc/cpuinfo that describe what a CPU can do, not how it is doing. */
const cpuFields =
  /^(?:vendor_id|cpu family|model|model name|stepping|microcode|flags|CPU implementer|CPU architecture|CPU variant|CPU part|CPU revision|Features)\s*:.*$/gm;

/**
 * Identifies the CPU that KVM gives to guests: the host's processor as the running kernel supports it. A state that was saved on another
 * one may not load, or its guest may use instructions that are missing.
 */
export async function readHostCpu(cpuinfoPath = '/proc/cpuinfo'): Promise<string> {
  const text = await readFile(cpuinfoPath, 'utf8');
  return [release(), ...new Set(text.match(cpuFields) ?? [])].join('\n');
}
