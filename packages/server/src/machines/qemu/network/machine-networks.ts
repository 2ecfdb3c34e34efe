import { createHash } from 'node:crypto';
import { access } from 'node:fs/promises';
import PQueue from 'p-queue';
import type { EgressPolicy } from '../../../core/ports/machine-driver.ts';
import type { Log } from '../../../core/ports/runtime.ts';
import { compileEgress } from '../../egress/egress-policy.ts';
import { type Cidr, cidr } from '../../ipv4.ts';
import { ReleaseStack } from '../release-stack.ts';
import { runStep, type StepRunner } from '../steps.ts';
import { HostNetwork } from './host/host-network.ts';
import { runTool } from './host/kernel-state.ts';
import { type NetworkRecord, NetworkRecords } from './network-records.ts';
import { hostStateDir, planSlot, type SlotPlan, tapName } from './plan/address-plan.ts';
import { allRefused } from './plan/refused-ranges.ts';
import { Resolver } from './resolver/resolver.ts';
import { egressRuleset } from './rules/egress-ruleset.ts';
import {
  defaultNetworkLimits,
  machineRuleset,
  type NetworkLimits,
  replaceMachineRules,
} from './rules/machine-ruleset.ts';
import { createNamespaceScript, removeNamespaceScript } from './rules/namespace-scripts.ts';

/** The network of one machine. */
export interface MachineNetwork {
  readonly slot: number;
  /** The path of the network namespace that QEMU runs in. */
  readonly netnsPath: string;
  /** The tap device in the namespace. Only the machine's uid can open it. */
  readonly tapName: string;
  /** Replaces the egress policy for new and open connections. When it fails, the old policy stays in force. */
  setEgress(policy: EgressPolicy): Promise<void>;
  /** Removes the network. QEMU must have exited. Safe to call more than once. */
  release(): Promise<void>;
}

/** A slot that only this host process uses on the whole host, and the uid that belongs to it. */
export interface SlotLease {
  readonly slot: number;
  readonly uid: number;
}

/** The leases of the slots whose networks a sweep removes. */
export interface OrphanLeases<L extends SlotLease = SlotLease> {
  /** Leases the slots. Leaves out those that another data folder has leased meanwhile: it removes what it finds there. */
  hold(slots: readonly number[]): readonly L[];
  release(lease: L): void;
}

export interface MachineNetworksOptions {
  /** Identifies the host process across restarts, e.g. its data folder. A host process sweeps only its own networks. */
  readonly owner: string;
  /** Path of the mayfly-net program. */
  readonly helperPath: string;
  /** Path of the mayfly-jail program, in which the resolver runs. */
  readonly jailPath: string;
  /** The resolver's user, which no other process of the host has. */
  readonly resolverUid: number;
  readonly log: Log;
  readonly limits?: NetworkLimits;
  /** Ranges that no machine may reach, besides those that are always refused: IPv4 addresses and CIDR blocks. */
  readonly refusedRanges?: readonly string[];
  /** Name lookups of all machines together. */
  readonly lookupsPerSecond?: number;
  /** State that all host processes of the host share. */
  readonly stateDir?: string;
  readonly resolvConfPath?: string;
  readonly step?: StepRunner;
}

/**
 * Each lookup takes an entry of the host's connection table for half a minute, or two where the host's resolver runs on the host itself, so
 * this rate fills at most half of the smallest table.
 */
export const defaultLookupsPerSecond = 500;

/** The largest number of networks that a sweep removes at a time. */
const sweepConcurrency = 4;

/** Creates, adopts and removes the networks of one host process's machines. Several host processes can share a host. */
export class MachineNetworks implements AsyncDisposable {
  readonly #owner: string;
  readonly #limits: NetworkLimits;
  /** The rules of every namespace, without its policy. */
  readonly #ruleset: string;
  readonly #rulesDigest: string;
  readonly #log: Log;
  readonly #host: HostNetwork;
  readonly #records: NetworkRecords;
  readonly #resolver: Resolver;
  readonly #step: StepRunner;
  readonly #usedSlots = new Set<number>();

  private constructor(options: MachineNetworksOptions, stateDir: string, host: HostNetwork) {
    const { owner, helperPath, log, limits = defaultNetworkLimits, resolvConfPath = '/etc/resolv.conf' } = options;
    const { lookupsPerSecond = defaultLookupsPerSecond } = options;
    const operatorRanges: readonly Cidr[] = (options.refusedRanges ?? []).map(cidr);
    this.#owner = owner;
    this.#limits = limits;
    this.#ruleset = machineRuleset(limits, operatorRanges);
    this.#rulesDigest = createHash('sha256').update(this.#ruleset).digest('hex');
    this.#log = log;
    this.#host = host;
    this.#step = options.step ?? runStep;
    this.#records = new NetworkRecords(stateDir);
    this.#resolver = new Resolver({
      helperPath,
      jailPath: options.jailPath,
      uid: options.resolverUid,
      resolvConfPath,
      refusedRanges: allRefused(operatorRanges),
      lookupsPerSecond,
      log,
    });
  }

  /** Sets up the host, or joins the set-up of other host processes, and starts the resolver. */
  static async open(options: MachineNetworksOptions): Promise<MachineNetworks> {
    const { owner, stateDir = hostStateDir, limits, log } = options;
    await new NetworkRecords(stateDir).removeUnfinished(owner);
    return new MachineNetworks(
      options,
      stateDir,
      await HostNetwork.open({ stateDir, connections: limits?.hostConnections, log }),
    );
  }

  /**
   * Creates a network for a leased slot. Anything an earlier machine left in that slot is removed first.
   * Its release is pushed before anything is created, so a failure leaves nothing behind.
   */
  async create(
    { slot, uid }: SlotLease,
    releases: ReleaseStack,
    egress: EgressPolicy = 'all',
  ): Promise<MachineNetwork> {
    const plan = planSlot(slot, this.#host.range);
    const compiled = compileEgress(egress);
    if (!Number.isInteger(uid) || uid <= 0) throw new Error(`${uid} is not a valid uid for a machine.`);
    const network = this.#track(plan, releases);
    if (await this.#records.read(slot).catch(() => true)) await this.#remove(slot);
    await this.#step('record network', () => this.#record(slot, egress, true));
    const script = createNamespaceScript(plan, uid, this.#limits, [this.#ruleset, egressRuleset(compiled)]);
    await this.#step('make network', () => this.#make(plan, script));
    await this.#step('start dns', () => this.#resolver.serve(slot, plan.netnsPath, compiled));
    return network;
  }

  /** Runs the script that creates a network. Retries once after removing leftovers that had no record. */
  async #make(plan: SlotPlan, script: string): Promise<void> {
    await runScript(script).catch(async (err: unknown) => {
      this.#log.warn({ slot: plan.slot, err }, 'network_creation_retried');
      await runScript(removeNamespaceScript(plan));
      await runScript(script);
    });
  }

  /**
   * Takes over the network of a machine that kept running after an earlier host process ended, with its policy. Starts no program unless a
   * policy change was interrupted or this host process would write other rules because its version or its refused ranges differ. When this
   * fails, the release is pushed nonetheless, unless another host process owns the slot.
   */
  async adopt(slot: number, releases: ReleaseStack): Promise<MachineNetwork> {
    const plan = planSlot(slot, this.#host.range);
    const record = await this.#records.read(slot).catch(() => undefined);
    const notOwned = `Slot ${slot} has no network that belongs to ${this.#owner}.`;
    if (record && record.owner !== this.#owner) throw new Error(notOwned);
    const network = this.#track(plan, releases);
    if (!record) throw new Error(notOwned);
    const compiled = compileEgress(record.egress);
    const isCurrent = record.rulesDigest === this.#rulesDigest;
    await this.#step('adopt network', () => (isCurrent ? access(plan.netnsPath) : this.#replaceRules(plan, record)));
    await this.#step('start dns', () => this.#resolver.serve(slot, plan.netnsPath, compiled));
    if (isCurrent && !record.isApplied) await network.setEgress(record.egress);
    return network;
  }

  async #replaceRules({ slot, netnsPath }: SlotPlan, { egress }: NetworkRecord): Promise<void> {
    const rules = replaceMachineRules([this.#ruleset, egressRuleset(compileEgress(egress))]);
    await runTool('nsenter', [`--net=${netnsPath}`, 'nft', '-f', '-'], rules);
    await this.#record(slot, egress, true);
  }

  #record(slot: number, egress: EgressPolicy, isApplied: boolean): Promise<void> {
    return this.#records.write(slot, { owner: this.#owner, egress, isApplied, rulesDigest: this.#rulesDigest });
  }

  /**
   * Removes this owner's orphaned networks: neither in a live slot nor in use by this object. Leases their slots meanwhile, so that no other
   * host process creates a network in one. Returns how many there were.
   */
  async sweep<L extends SlotLease>(
    liveSlots: ReadonlySet<number>,
    leases: OrphanLeases<L>,
    discard: (releases: ReleaseStack) => Promise<void>,
  ): Promise<number> {
    const recorded = await this.#records.slotsOf(this.#owner);
    const orphans = leases.hold(recorded.filter((slot) => !liveSlots.has(slot) && !this.#usedSlots.has(slot)));
    const stacks = orphans.map((lease) => {
      const releases = new ReleaseStack(this.#step);
      releases.push('release uid', () => leases.release(lease));
      this.#track(planSlot(lease.slot, this.#host.range), releases);
      return releases;
    });
    await new PQueue({ concurrency: sweepConcurrency }).addAll(stacks.map((releases) => () => discard(releases)));
    return orphans.length;
  }

  /** The owners of all networks of this host. */
  listOwners(): Promise<string[]> {
    return this.#records.listOwners();
  }

  /** The slots of an owner's networks. */
  slotsOf(owner: string): Promise<number[]> {
    return this.#records.slotsOf(owner);
  }

  /** Removes the networks of an owner that is gone for ever, in slots that this host process has leased. Returns how many there were. */
  async reclaim(owner: string, leasedSlots: ReadonlySet<number>): Promise<number> {
    const slots = (await this.#records.slotsOf(owner)).filter((slot) => leasedSlots.has(slot));
    await new PQueue({ concurrency: sweepConcurrency }).addAll(slots.map((slot) => () => this.#remove(slot)));
    await this.#records.removeUnfinished(owner);
    return slots.length;
  }

  #track({ slot, netnsPath }: SlotPlan, releases: ReleaseStack): MachineNetwork {
    if (this.#usedSlots.has(slot)) throw new Error(`Slot ${slot} already has a network.`);
    this.#usedSlots.add(slot);
    const network = new NamespaceNetwork(slot, netnsPath, {
      setEgress: (policy) => this.#setEgress(slot, policy),
      remove: async () => {
        await this.#remove(slot);
        this.#usedSlots.delete(slot);
      },
    });
    releases.push('release network', () => network.release());
    return network;
  }

  async #setEgress(slot: number, egress: EgressPolicy): Promise<void> {
    const compiled = compileEgress(egress);
    const before = await this.#records.read(slot);
    await this.#record(slot, egress, false);
    try {
      await this.#resolver.setEgress(slot, compiled);
    } catch (error) {
      if (before) await this.#records.write(slot, before);
      throw error;
    }
    await this.#record(slot, egress, true);
  }

  async #remove(slot: number): Promise<void> {
    await this.#step('stop dns', () => this.#resolver.forget(slot));
    const plan = planSlot(slot, this.#host.range);
    await this.#step('remove network', () => runScript(removeNamespaceScript(plan)));
    await this.#step('remove network record', () => this.#records.remove(slot));
  }

  /** Stops the resolver and leaves the networks in place. The last host process of a host without networks restores the host's settings. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.#resolver[Symbol.asyncDispose]();
    await this.#host[Symbol.asyncDispose]();
  }
}

interface NetworkActions {
  setEgress(policy: EgressPolicy): Promise<void>;
  remove(): Promise<void>;
}

/** A machine's network namespace. Changes run one at a time, and none after the release. */
class NamespaceNetwork implements MachineNetwork {
  readonly slot: number;
  readonly netnsPath: string;
  readonly tapName = tapName;
  readonly #actions: NetworkActions;
  #lastChange: Promise<unknown> = Promise.resolve();
  #isReleased = false;

  constructor(slot: number, netnsPath: string, actions: NetworkActions) {
    this.slot = slot;
    this.netnsPath = netnsPath;
    this.#actions = actions;
  }

  #serialize(work: () => Promise<void>): Promise<void> {
    const change = this.#lastChange.then(work);
    this.#lastChange = change.catch(() => {});
    return change;
  }

  setEgress(policy: EgressPolicy): Promise<void> {
    return this.#serialize(async () => {
      if (this.#isReleased) throw new Error(`The network of slot ${this.slot} was released.`);
      await this.#actions.setEgress(policy);
    });
  }

  release(): Promise<void> {
    return this.#serialize(async () => {
      if (this.#isReleased) return;
      await this.#actions.remove();
      this.#isReleased = true;
    });
  }
}

function runScript(input: string): Promise<string> {
  return runTool('sh', [], input);
}
