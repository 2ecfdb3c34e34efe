import { access } from 'node:fs/promises';
import type { Log } from '../../../core/ports/log.ts';
import { Holdings } from '../holdings.ts';
import { runStep, type StepRunner } from '../steps.ts';
import { compileEgress } from './egress/compile.ts';
import type { EgressPolicy } from './egress/policy.ts';
import { HeldNetwork } from './held-network.ts';
import { run } from './host/command.ts';
import { HostNetwork } from './host/host-network.ts';
import type { Problem } from './host/problem.ts';
import type { MachineNetwork, NetworkPool, SlotLease } from './machine-network.ts';
import { NetworkRecords } from './network-record.ts';
import { linkNameOf, netnsNameOf, planSlot, type SlotPlan } from './plan/address-plan.ts';
import { type Ceilings, defaultCeilings } from './plan/ceilings.ts';
import { Resolver } from './resolver/resolver.ts';
import { egressRuleset } from './rules/egress-ruleset.ts';
import { machineRuleset } from './rules/machine-ruleset.ts';
import { makeScript, removeScript } from './rules/make-script.ts';

export interface NetworkPoolOptions {
  /** Names the service for good, e.g. its data folder: it sweeps only what is its own. */
  readonly owner: string;
  /** The mayfly-net program. */
  readonly helperPath: string;
  readonly log: Log;
  readonly ceilings?: Ceilings;
  /** Where the services of this host keep what they share. */
  readonly stateDir?: string;
  readonly resolvConfPath?: string;
  readonly step?: StepRunner;
}

/** Where the services of a host keep what they share about its network. */
export const defaultStateDir = '/run/mayfly';

/** The networks of one service, on a host that it shares with other services. */
export class NamespacePool implements NetworkPool {
  readonly #owner: string;
  readonly #ceilings: Ceilings;
  readonly #log: Log;
  readonly #host: HostNetwork;
  readonly #records: NetworkRecords;
  readonly #resolver: Resolver;
  readonly #step: StepRunner;
  readonly #held = new Set<number>();

  private constructor(options: NetworkPoolOptions, stateDir: string, host: HostNetwork) {
    const { owner, helperPath, log, ceilings = defaultCeilings, resolvConfPath = '/etc/resolv.conf' } = options;
    this.#owner = owner;
    this.#ceilings = ceilings;
    this.#log = log;
    this.#host = host;
    this.#step = options.step ?? runStep;
    this.#records = new NetworkRecords(stateDir);
    this.#resolver = new Resolver({ helperPath, resolvConfPath, log });
  }

  /** Sets the host up, or joins the set-up of other services, and starts the resolver. */
  static async open(options: NetworkPoolOptions): Promise<NamespacePool> {
    const stateDir = options.stateDir ?? defaultStateDir;
    return new NamespacePool(options, stateDir, await HostNetwork.open(stateDir, options.log));
  }

  /** What keeps machines from the network on this host, as of the last look. */
  get problems(): readonly Problem[] {
    return this.#host.problems;
  }

  /** Looks at the host again at once; otherwise it happens every ten seconds. */
  mend(): Promise<void> {
    return this.#host.mend();
  }

  /** The process id of the resolver. */
  resolverPid(): Promise<number | undefined> {
    return this.#resolver.pid();
  }

  async acquire({ slot, uid }: SlotLease, holdings: Holdings, egress: EgressPolicy = 'all'): Promise<MachineNetwork> {
    const plan = planSlot(slot, this.#host.range);
    const { netnsPath } = plan;
    const compiled = compileEgress(egress);
    if (!Number.isInteger(uid) || uid <= 0) throw new Error(`not a uid of a machine: ${uid}`);
    const network = this.#hold(plan, holdings);
    if (await this.#records.read(slot).catch(() => true)) await this.#remove(slot);
    const record = { owner: this.#owner, egress, isApplied: true };
    await this.#step('record network', () => this.#records.write(slot, record));
    const rulesets = [machineRuleset(this.#ceilings), egressRuleset(compiled)];
    const script = makeScript(plan, uid, this.#ceilings, rulesets);
    await this.#step('make network', () => this.#make(plan, script));
    await this.#step('serve names', () => this.#resolver.serve(slot, netnsPath, compiled));
    return network;
  }

  /** Runs the script that makes a network; once more when something without a record was in its way. */
  async #make({ slot, netnsName, linkName }: SlotPlan, script: string): Promise<void> {
    await run('sh', [], script).catch(async (error: unknown) => {
      this.#log.warn({ slot, error }, 'network_made_again');
      await run('sh', [], removeScript(netnsName, linkName));
      await run('sh', [], script);
    });
  }

  async adopt(slot: number, holdings: Holdings): Promise<MachineNetwork> {
    const plan = planSlot(slot, this.#host.range);
    const { netnsPath } = plan;
    const record = await this.#records.read(slot).catch(() => undefined);
    const none = `slot ${slot} has no network of ${this.#owner}`;
    if (record && record.owner !== this.#owner) throw new Error(none);
    const network = this.#hold(plan, holdings);
    if (!record) throw new Error(none);
    await this.#step('adopt network', () => access(netnsPath));
    await this.#step('serve names', () => this.#resolver.serve(slot, netnsPath, compileEgress(record.egress)));
    if (!record.isApplied) await network.setEgress(record.egress);
    return network;
  }

  #hold({ slot, netnsPath }: SlotPlan, holdings: Holdings): MachineNetwork {
    if (this.#held.has(slot)) throw new Error(`slot ${slot} has a network already`);
    this.#held.add(slot);
    const network = new HeldNetwork(slot, netnsPath, {
      setEgress: (policy) => this.#setEgress(slot, policy),
      remove: async () => {
        await this.#remove(slot);
        this.#held.delete(slot);
      },
    });
    holdings.hold('release network', () => network.release());
    return network;
  }

  async #setEgress(slot: number, egress: EgressPolicy): Promise<void> {
    const compiled = compileEgress(egress);
    const before = await this.#records.read(slot);
    await this.#records.write(slot, { owner: this.#owner, egress, isApplied: false });
    try {
      await this.#resolver.setEgress(slot, compiled);
    } catch (error) {
      if (before) await this.#records.write(slot, before);
      throw error;
    }
    await this.#records.write(slot, { owner: this.#owner, egress, isApplied: true });
  }

  async #remove(slot: number): Promise<void> {
    await this.#step('forget names', () => this.#resolver.forget(slot));
    await this.#step('remove network', () => run('sh', [], removeScript(netnsNameOf(slot), linkNameOf(slot))));
    await this.#step('remove network record', () => this.#records.remove(slot));
  }

  async sweep(liveSlots: ReadonlySet<number>, discard: (holdings: Holdings) => Promise<void>): Promise<number> {
    const own = await this.#records.slotsOf(this.#owner);
    const strays = own.filter((slot) => !liveSlots.has(slot) && !this.#held.has(slot));
    for (const slot of strays) {
      const holdings = new Holdings(this.#step);
      this.#hold(planSlot(slot, this.#host.range), holdings);
      await discard(holdings);
    }
    return strays.length;
  }

  async close(): Promise<void> {
    await this.#resolver.close();
    await this.#host.close();
  }
}
