/** The steps of a save. */
export const saveSteps = [
  'reserve snapshot',
  'flatten disk',
  'add layer',
  'make memory file',
  'save memory',
  'stack layer',
  'extract memory',
  'link layers',
  'publish snapshot',
  'keep layers',
] as const;

/** Everything that is done to the host or to QEMU in a machine's life. A step has one effect, so that a test can make each of them fail. */
export const stepNames = [
  'make folder',
  'link origin',
  'lease uid',
  'record network',
  'make network',
  'start dns',
  'make cgroup',
  'limit cgroup',
  'write record',
  'copy disk',
  'chown disk',
  'set egress',
  'start process',
  'record process',
  'connect monitor',
  'share agent sockets',
  'load state',
  'start vcpus',
  'pause',
  'resume',
  ...saveSteps,
  'adopt network',
  'find agent ports',
  'finish migration',
  'clean up save',
  'close monitor',
  'end process',
  'remove disk',
  'remove cgroup',
  'release network',
  'stop dns',
  'remove network',
  'remove network record',
  'release uid',
  'remove agent sockets',
  'remove folder',
] as const;

export type StepName = (typeof stepNames)[number];

/** Runs one step and returns its result. Tests inject failures before or after it. */
export type StepRunner = <T>(name: StepName, work: () => Promise<T>) => Promise<T>;

/** Runs the step and does nothing else. */
export const runStep: StepRunner = (_name, work) => work();

/** Starts no further step once the signal is aborted. */
export function stepsUntil(signal: AbortSignal | undefined, step: StepRunner): StepRunner {
  return async (name, work) => {
    signal?.throwIfAborted();
    return await step(name, work);
  };
}
