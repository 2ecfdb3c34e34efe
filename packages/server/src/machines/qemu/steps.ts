/** Everything that is done to the host or to QEMU in a machine's life: one effect each, so that each can be broken alone. */
export const stepNames = [
  'make folder',
  'lease uid',
  'record network',
  'make network',
  'serve names',
  'make cgroup',
  'limit cgroup',
  'write record',
  'copy disk',
  'hand disk over',
  'set egress',
  'start process',
  'record process',
  'connect monitor',
  'load state',
  'let run',
  'pause',
  'resume',
  'adopt network',
  'find agent ports',
  'settle migration',
  'close monitor',
  'end process',
  'remove disk',
  'remove cgroup',
  'release network',
  'forget names',
  'remove network',
  'remove network record',
  'give uid back',
  'remove folder',
] as const;

export type StepName = (typeof stepNames)[number];

/** Runs one step and gives its outcome. Tests put a failure before or behind it. */
export type StepRunner = <T>(name: StepName, work: () => Promise<T>) => Promise<T>;

/** Runs the step and nothing else. */
export const runStep: StepRunner = (_name, work) => work();

/** Begins no further step once the signal has aborted. */
export const stepsUntil =
  (signal: AbortSignal | undefined, step: StepRunner): StepRunner =>
  async (name, work) => {
    signal?.throwIfAborted();
    return await step(name, work);
  };
