import { readFileSync, writeFileSync } from 'node:fs';
import type { Log } from '../core/ports/runtime.ts';

/** As container runtimes have it: the kernel kills nearly everything else first. -1000 would exempt a process that leaks memory as well. */
const protectedScore = -999;

/** The number of CAP_SYS_RESOURCE. */
const sysResource = 24n;

/**
 * Protects this process, and the helpers that it starts, from the kernel's out-of-memory killer. The jail gives QEMU a score of its own.
 * Without the privilege for it, which containers usually lack, the process runs unprotected.
 */
export function protectFromOutOfMemory(log: Log, processFolder = '/proc/self'): void {
  try {
    writeFileSync(`${processFolder}/oom_score_adj`, String(protectedScore));
  } catch (error) {
    const reason = (error as NodeJS.ErrnoException).code ?? String(error);
    const level = mayProtect(processFolder) ? 'warn' : 'debug';
    log[level]({ reason }, 'out_of_memory_protection_failed');
  }
}

/** Whether this process has the privilege to protect itself. */
function mayProtect(processFolder: string): boolean {
  const effective = /^CapEff:\s*([0-9a-f]+)$/m.exec(readFileSync(`${processFolder}/status`, 'utf8'))?.[1];
  return effective !== undefined && ((BigInt(`0x${effective}`) >> sysResource) & 1n) === 1n;
}
