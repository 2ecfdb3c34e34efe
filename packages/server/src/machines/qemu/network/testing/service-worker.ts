import type { EgressPolicy } from '../egress/policy.ts';
import type { MachineNetwork } from '../machine-network.ts';
import type { Ceilings } from '../plan/ceilings.ts';
import { NamespacePool } from '../pool.ts';
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

const keep = (network: MachineNetwork): string => {
  networks.set(network.slot, network);
  return network.netnsPath;
};

serveRpc({
  open: async (options: { owner: string; helperPath: string; resolvConfPath: string; ceilings?: Ceilings }) => {
    pool = await NamespacePool.open({ ...options, log: { debug: note, info: note, warn: note, error: note } });
  },
  acquire: async ({ slot, uid, egress }: { slot: number; uid: number; egress?: EgressPolicy }) =>
    keep(await opened().acquire({ slot, uid }, egress)),
  adopt: async ({ slot }: { slot: number }) => keep(await opened().adopt(slot)),
  setEgress: ({ slot, egress }: { slot: number; egress: EgressPolicy }) => networkOf(slot).setEgress(egress),
  release: ({ slot }: { slot: number }) => networkOf(slot).release(),
  sweep: ({ liveSlots }: { liveSlots: number[] }) => opened().sweep(new Set(liveSlots)),
  mend: () => opened().mend(),
  problems: () => opened().problems,
  resolverPid: () => opened().resolverPid(),
  events: () => events,
  close: () => opened().close(),
});
