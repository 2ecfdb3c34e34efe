import { Holdings } from '../../src/machines/qemu/holdings.ts';
import type { EgressPolicy } from '../../src/machines/qemu/network/egress/policy.ts';
import type { MachineNetwork } from '../../src/machines/qemu/network/machine-network.ts';
import type { Ceilings } from '../../src/machines/qemu/network/plan/ceilings.ts';
import { NamespacePool } from '../../src/machines/qemu/network/pool.ts';
import { runStep } from '../../src/machines/qemu/steps.ts';
import { serveRpc } from './rpc-serve.ts';

/** A service with nothing but its network, in the laboratory's stand-in for a host. */
const networks = new Map<number, MachineNetwork>();
const events: string[] = [];
const note = (_fields: object, event: string): number => events.push(event);
let pool: NamespacePool | undefined;

const opened = (): NamespacePool => {
  if (!pool) throw new Error('not open');
  return pool;
};

const networkOf = (slot: number): MachineNetwork => {
  const network = networks.get(slot);
  if (!network) throw new Error(`no network ${slot}`);
  return network;
};

const keepOrClear = async (make: (holdings: Holdings) => Promise<MachineNetwork>): Promise<string> => {
  const holdings = new Holdings(runStep);
  try {
    const network = await make(holdings);
    networks.set(network.slot, network);
    return network.netnsPath;
  } catch (error) {
    await holdings.release();
    throw error;
  }
};

serveRpc({
  open: async (options: { owner: string; helperPath: string; resolvConfPath: string; ceilings?: Ceilings }) => {
    pool = await NamespacePool.open({ ...options, log: { debug: note, info: note, warn: note, error: note } });
  },
  acquire: ({ slot, uid, egress }: { slot: number; uid: number; egress?: EgressPolicy }) =>
    keepOrClear((holdings) => opened().acquire({ slot, uid }, holdings, egress)),
  adopt: ({ slot }: { slot: number }) => keepOrClear((holdings) => opened().adopt(slot, holdings)),
  setEgress: ({ slot, egress }: { slot: number; egress: EgressPolicy }) => networkOf(slot).setEgress(egress),
  release: ({ slot }: { slot: number }) => networkOf(slot).release(),
  sweep: ({ liveSlots }: { liveSlots: number[] }) =>
    opened().sweep(new Set(liveSlots), (holdings) => holdings.release()),
  mend: () => opened().mend(),
  problems: () => opened().problems,
  resolverPid: () => opened().resolverPid(),
  events: () => events,
  close: () => opened().close(),
});
