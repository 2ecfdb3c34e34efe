import type { ProcessEnd } from './process.ts';

/** Says in one line why a QEMU process is gone: what the guest did, or what happened to the process. */
export const exitReason = (end: ProcessEnd, shutdownReason: string | undefined, logTail: string): string => {
  if (shutdownReason === 'guest-shutdown') return 'the guest powered itself off';
  if (shutdownReason === 'guest-reset') return 'the guest restarted: a reboot or a kernel panic';
  if (shutdownReason === 'guest-panic') return 'the kernel of the guest panicked';
  const lastLine = logTail.split('\n').at(-1)?.slice(0, 300) ?? '';
  const said = lastLine === '' ? '' : `: ${lastLine}`;
  if (end.signal) return `qemu was killed by ${end.signal}${said}`;
  return `qemu ended with code ${end.code ?? 'unknown'}${said}`;
};
