import type { Log } from '../core/ports/runtime.ts';
import { runProgram } from '../system/run-program.ts';
import { connectUnix } from '../system/unix-sockets.ts';

const notifyMs = 10_000;

/**
 * Tells systemd, if it started this process and waits for it (sd_notify(3)), that the host process listens. The units that are ordered after it are
 * started then. Never rejects.
 */
export async function notifySystemd(
  hostSocketPath: string,
  signal: AbortSignal,
  log: Log,
  { NOTIFY_SOCKET } = process.env,
): Promise<void> {
  if (!NOTIFY_SOCKET) return;
  try {
    (await connectUnix(hostSocketPath, signal)).destroy();
    // Node has no datagram sockets for unix. As root, the program speaks for the process that runs it, which is systemd's main process.
    await runProgram('systemd-notify', ['--ready', '--status=The host process is ready'], {
      env: { ...process.env, NOTIFY_SOCKET },
      deadlineMs: notifyMs,
    });
  } catch (err) {
    if (!signal.aborted) log.error({ err }, 'systemd_not_notified');
  }
}
