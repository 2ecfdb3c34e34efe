import { writeFileSync } from 'node:fs';
import type { Log } from '../core/ports/runtime.ts';

/** As container runtimes have it: the kernel kills nearly everything else first. -1000 would exempt a service that leaks memory as well. */
const protectedScore = -999;

/**
 * Protects this process, and the helpers that it starts, from the kernel's out-of-memory killer. The jail gives QEMU a score of its own.
 * Without the privilege for it, the service runs unprotected.
 */
export function protectFromOutOfMemory(log: Log): void {
  try {
    writeFileSync('/proc/self/oom_score_adj', String(protectedScore));
  } catch (err) {
    log.warn({ err }, 'out_of_memory_protection_failed');
  }
}
