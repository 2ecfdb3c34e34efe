import type { GuestConnector } from '@mayfly/server/guest';
import { BootStalled, machineDeadlines, type WarmUp } from '@mayfly/server/machines';

const { bootMs: bootDeadlineMs, commandMs: commandDeadlineMs } = machineDeadlines.template;

/** Run before a template is saved, so that its copies have the files of the most common programs in their page cache. */
const warmCommands = [
  'true',
  'cat /etc/os-release; ls -la; id; uname -a; date; sleep 0; env; echo x | grep x',
  'python3 -c "import json, os, subprocess, http.server"',
  'node -e "require(\'node:http\')"',
  'git --version; curl --version',
  'pip --version; npm --version',
];

/** Waits for the agent of a booting machine, runs the warm-up commands, and leaves the machine idle. */
export function warmUpWith(connector: GuestConnector): WarmUp {
  return async (openChannel) => {
    const openAgentChannel = (signal?: AbortSignal) => openChannel(signal ?? AbortSignal.timeout(bootDeadlineMs));
    const startedMs = performance.now();
    const attached = connector.attach({ id: 'template', openAgentChannel }, bootDeadlineMs);
    const agent = await attached.catch((cause: unknown) => {
      // Timers are not exact. Any other failure comes much earlier.
      if (performance.now() - startedMs < 0.9 * bootDeadlineMs) throw cause;
      throw new BootStalled(`The agent did not answer within ${bootDeadlineMs / 1000} s`, { cause });
    });
    try {
      const { bootMs } = await agent.hello();
      for (const [index, command] of warmCommands.entries()) {
        const id = `exec_warm${index}`;
        const request = { id, command, cwd: '/workspace', env: {}, timeoutMs: commandDeadlineMs, captureBytes: 4096 };
        const { exitCode, stderr } = await agent.execute(request);
        if (exitCode !== 0) throw new Error(`"${command}" failed with ${exitCode}: ${stderr.toString().slice(0, 500)}`);
        await agent.forgetExecution(id);
      }
      const { uptimeMs } = await agent.stats();
      return { bootMs, uptimeMs };
    } finally {
      agent.close();
    }
  };
}
