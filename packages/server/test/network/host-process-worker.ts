import type { EgressPolicy } from '../../src/core/ports/machine-driver.ts';
import { HostNetwork } from '../../src/machines/qemu/network/host/host-network.ts';
import {
  type MachineNetwork,
  MachineNetworks,
  type MachineNetworksOptions,
  type OrphanLeases,
} from '../../src/machines/qemu/network/machine-networks.ts';
import { ReleaseStack } from '../../src/machines/qemu/release-stack.ts';
import { runStep } from '../../src/machines/qemu/steps.ts';
import { pinoLog } from '../machines/pino-log.ts';
import { serveRpc } from './rpc.ts';

/** A host process that has only its networks, on the host of the network lab. */
const created = new Map<number, MachineNetwork>();
const { log, lines } = pinoLog();
let networks: MachineNetworks | undefined;

/** Its use of the host's network, which it repairs by itself every ten seconds: a test does not wait for that. */
let host: HostNetwork | undefined;
const openHost = HostNetwork.open.bind(HostNetwork);
HostNetwork.open = async (options) => {
  host = await openHost(options);
  return host;
};

function opened(): MachineNetworks {
  if (!networks) throw new Error('The networks are not open.');
  return networks;
}

function networkOf(slot: number): MachineNetwork {
  const network = created.get(slot);
  if (!network) throw new Error(`Slot ${slot} has no network.`);
  return network;
}

/** Keeps the network, or releases everything that was created of it. */
async function keep(make: (releases: ReleaseStack) => Promise<MachineNetwork>): Promise<string> {
  const releases = new ReleaseStack(runStep);
  try {
    const network = await make(releases);
    created.set(network.slot, network);
    return network.netnsPath;
  } catch (error) {
    await releases.release();
    throw error;
  }
}

serveRpc({
  open: async (options: Omit<MachineNetworksOptions, 'log'>) => {
    networks = await MachineNetworks.open({ ...options, log });
  },
  create: ({ slot, uid, egress }: { slot: number; uid: number; egress?: EgressPolicy }) =>
    keep((releases) => opened().create({ slot, uid }, releases, egress)),
  adopt: ({ slot }: { slot: number }) => keep((releases) => opened().adopt(slot, releases)),
  setEgress: ({ slot, egress }: { slot: number; egress: EgressPolicy }) => networkOf(slot).setEgress(egress),
  release: ({ slot }: { slot: number }) => networkOf(slot).release(),
  /** `foreignSlots` are leased to other host processes. */
  sweep: ({ liveSlots, foreignSlots = [] }: { liveSlots: number[]; foreignSlots?: number[] }) => {
    const leases: OrphanLeases = {
      hold: (slots) => slots.filter((slot) => !foreignSlots.includes(slot)).map((slot) => ({ slot, uid: 1 })),
      release: () => {},
    };
    return opened().sweep(new Set(liveSlots), leases, (releases) => releases.release());
  },
  reclaim: ({ owner, slots }: { owner: string; slots: number[] }) => opened().reclaim(owner, new Set(slots)),
  repair: () => {
    if (!host) throw new Error('The networks are not open.');
    return host.repair();
  },
  logLines: () => lines(),
  close: () => opened()[Symbol.asyncDispose](),
});
