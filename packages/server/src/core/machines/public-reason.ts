import { ApiError, oneLine } from '../errors/api-error.ts';
import { GuestRefusal, GuestUnreachable } from '../ports/guest-agent.ts';
import { HostFull, HostUnavailable, SnapshotUnusable } from '../ports/machine-driver.ts';
import { DeadlineExceeded } from '../scheduling/deadline.ts';

/**
 * Why something failed, as far as a tenant may know it, as part of a sentence. Errors of the host (programs, files, QEMU) may name paths, cgroups
 * and lines of logs: tenants get `otherwise` instead, and the log has the error.
 */
export function publicReason(error: unknown, otherwise: string): string {
  if (error instanceof DeadlineExceeded) return 'it took too long';
  if (error instanceof HostUnavailable) return 'machines cannot be started or stopped at the moment';
  if (error instanceof HostFull) return 'the host has no room for another machine';
  const isPublic = [ApiError, GuestUnreachable, GuestRefusal, SnapshotUnusable].some((type) => error instanceof type);
  return isPublic ? oneLine(error).replace(/\.$/, '') : otherwise;
}
