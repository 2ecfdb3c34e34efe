// Runs real machines in its own process, for tests of networking and of adoption. Takes requests on standard input.

import type { GuestAgent } from '#server/core/ports/guest-agent.ts';
import type { EgressPolicy } from '#server/core/ports/machine-driver.ts';
import { createGuestConnector } from '#server/guest/connector.ts';
import { QemuDriver, type QemuDriverOptions } from '#server/machines/qemu/driver.ts';
import type { QemuMachine } from '#server/machines/qemu/machine.ts';
import { serveRpc } from '#server-test/network/rpc.ts';
import type { PreparedHost } from './prepared-host.ts';

const connector = createGuestConnector();
const machines = new Map<string, { readonly machine: QemuMachine; readonly agent: GuestAgent }>();
function writeLog(fields: object, event: string): void {
  process.stderr.write(`${event} ${JSON.stringify(fields)}\n`);
}
let driver: QemuDriver | undefined;
let executions = 0;

function machineOf(id: string) {
  const found = machines.get(id);
  if (!found) throw new Error(`no machine ${id}`);
  return found;
}

interface OpenRequest
  extends Pick<QemuDriverOptions, 'dataDir' | 'resolvConfPath' | 'refusedRanges' | 'networkLimits'> {
  readonly host: PreparedHost;
}

serveRpc({
  open: async ({ host, ...options }: OpenRequest) => {
    const log = { debug: () => {}, info: () => {}, warn: writeLog, error: writeLog };
    driver = await QemuDriver.open({ ...host, ...options, log });
    await driver.adopt();
  },
  launch: async ({ name, egress, snapshotId }: { name: string; egress?: EgressPolicy; snapshotId?: string }) => {
    if (!driver) throw new Error('not open');
    const machine = await driver.launch({ id: name, size: 'small', snapshotId, ...(egress ? { egress } : {}) });
    const identity = { hostname: name, machineId: '0'.repeat(32), expiresAtMs: 0 };
    machines.set(name, { machine, agent: await connector.attach(machine, 60_000, identity) });
    return { pid: machine.pid };
  },
  run: async ({ name, command }: { name: string; command: string }) => {
    executions += 1;
    const request = { id: `exec_${process.pid}_${executions}`, command, cwd: '/workspace', env: {}, timeoutMs: 60_000 };
    const { exitCode, stdout } = await machineOf(name).agent.execute({ ...request, captureBytes: 65_536 });
    return { exitCode, stdout: stdout.toString().trim() };
  },
  /** Saves a machine, and answers when that is done. */
  save: async ({ name, snapshot }: { name: string; snapshot: string }) => {
    await machineOf(name).machine.save(snapshot);
  },
  setEgress: ({ name, egress }: { name: string; egress: EgressPolicy }) => machineOf(name).machine.setEgress(egress),
  close: async () => {
    await Promise.all(Array.from(machines.values(), ({ machine }) => machine.destroy()));
    await driver?.[Symbol.asyncDispose]();
  },
});
