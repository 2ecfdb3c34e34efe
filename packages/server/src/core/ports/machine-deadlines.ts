/** How long the service waits for machines, in milliseconds. */
export interface Deadlines {
  /** For a launch, including its time in the queue. After it, the caller gets an error and the launch is cancelled. */
  readonly launchMs: number;
  /** For the agent of a machine, each time it is attached to. */
  readonly attachMs: number;
  /** How long a delete waits for the teardown before it answers 202. */
  readonly teardownMs: number;
  /** How long saving a machine may take, including the time it waits for its turn; also how long a rollback waits for it. */
  readonly saveMs: number;
}

const minuteMs = 60_000;
const service: Deadlines = { launchMs: 60_000, attachMs: 60_000, teardownMs: 10_000, saveMs: 20 * minuteMs };

/**
 * How long everything between the launch and the end of a machine may take, in milliseconds, from the outermost wait to single steps. An inner
 * deadline passes before the ones around it, because its error says what was slow; `machine-deadlines.test.ts` checks how they relate. All of them
 * are generous: an emulated machine on a busy host is a hundred times slower than one with KVM.
 */
export const machineDeadlines = {
  /** The service, for its callers. */
  service,
  /** The service, for the host process. */
  connection: {
    greetingMs: 10_000,
    callMs: 150_000,
    saveMs: 16 * minuteMs,
  },
  /** The host process, for each call of a service, whatever the service waits for. */
  host: {
    launchMs: 120_000,
    /** Any other call, and each attempt of a cleanup. */
    callMs: 60_000,
    saveMs: 15 * minuteMs,
  },
  /** The steps of a launch. */
  launch: {
    /** For a new QEMU to open its monitor. */
    openMonitorMs: 20_000,
    /** For QEMU to answer a command, or to greet. */
    answerMs: 20_000,
    /** For QEMU to load the state of the devices. */
    loadStateMs: 30_000,
  },
  /** The steps of making, changing and removing the network of a machine. */
  network: {
    /** For a program of the host that changes the kernel's state. */
    programMs: 20_000,
    /** For the resolver to carry a request out or give it up, for which it has shorter deadlines of its own: see native/net/internal/broker. */
    resolverMs: 15_000,
  },
  /** The steps of an attach. */
  attach: {
    /** For the agent ports of a running machine to accept a connection. */
    openChannelMs: 5_000,
    /** For the agent's marker before both ports are reconnected; doubled with each attempt. */
    firstSyncMs: 1_000,
  },
  /** The first command in a machine for the pool. */
  pool: { warmUpMs: 30_000 },
  /** The steps of a save. */
  save: {
    /** All of them. Then the save is cancelled, which the host process waits for. */
    allStepsMs: 14 * minuteMs,
    /** While the memory is copied and the machine runs. A machine that changes it faster than it can be copied is stopped after that. */
    convergeMs: 20_000,
    /** How long a running machine may stand still. */
    stoppedMs: 60_000,
    /** For copying the memory, stopped or not. */
    memoryMs: 5 * minuteMs,
    /** For QEMU to let the machine go on after it was saved. */
    finalizeMs: 20_000,
    /** For QEMU to give up copying the memory. */
    cancelMemoryMs: 20_000,
    /** For flattening a disk with many layers. */
    flattenMs: 5 * minuteMs,
    /** For QEMU to give up flattening. */
    cancelFlattenMs: 10_000,
    /** For extracting what differs from the memory below. */
    extractMs: 5 * minuteMs,
  },
  /** The steps of a destruction. What takes longer is tried again. */
  destroy: {
    /** For a save that was cancelled to end. */
    endSaveMs: 30_000,
    /** For a killed QEMU to end. */
    killMs: 10_000,
    /** For the processes of a cgroup to end, so that it can be removed. */
    removeCgroupMs: 10_000,
  },
  /** Building a template and making it available to machines. No caller waits for it. */
  template: {
    createLayerMs: 30_000,
    /** For the agent to answer. An emulated machine needs half a minute, one inside an emulated host several. A stall is noticed earlier. */
    bootMs: 15 * minuteMs,
    /** For each warm-up command. */
    commandMs: 10 * minuteMs,
    saveStateMs: 60_000,
    /** For the plan of its memory. */
    planMs: 60_000,
    /** For copying it to the data folder: a few GB. */
    copyMs: 10 * minuteMs,
  },
};
