import type { GuestConnector } from '@mayfly/server/core/ports/guest-agent.ts';
import type { WarmUp } from '@mayfly/server/machines/qemu/template/build.ts';

/** How long a machine may take to boot under emulation, in milliseconds. */
const bootDeadlineMs = 240_000;

/** What copies of a template should find in the page cache: what people run first. */
const warmCommands = [
  'true',
  'cat /etc/os-release; ls -la; id; uname -a; date; sleep 0; env; echo x | grep x',
  'python3 -c "import json, os, subprocess, http.server"',
  'node -e "require(\'node:http\')"',
  'git --version; curl --version',
  'pip --version; npm --version',
];

/** Waits for the agent of a booting machine, runs the commands that copies should find warm, and leaves it idle. */
export const warmUpWith =
  (connector: GuestConnector): WarmUp =>
  async (openChannel) => {
    const openAgentChannel = (signal?: AbortSignal) => openChannel(signal ?? AbortSignal.timeout(bootDeadlineMs));
    const agent = await connector.attach({ id: 'template', openAgentChannel }, bootDeadlineMs);
    try {
      const { bootMs } = await agent.hello();
      for (const [index, command] of warmCommands.entries()) {
        const id = `exec_warm${index}`;
        const request = { id, command, cwd: '/workspace', env: {}, timeoutMs: 180_000, captureBytes: 4096 };
        const { exitCode, stderr } = await agent.execute(request);
        if (exitCode !== 0) throw new Error(`"${command}" ended with ${exitCode}: ${stderr.toString().slice(0, 500)}`);
        await agent.forgetExecution(id);
      }
      const { uptimeMs } = await agent.figures();
      return { bootMs, uptimeMs };
    } finally {
      agent.close();
    }
  };
