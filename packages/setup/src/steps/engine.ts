import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { detectEngine, emulating, type QemuEngine, tryKernelOnKvm } from '@mayfly/server/machines';
import type { GuestArtifacts } from '../artifacts.ts';
import { hashValues } from '../cache/keys.ts';
import { ensureStep, type StepContext } from './step.ts';

const recipe = '2';

/** A trial that is repeated by the next set-up, because another one may succeed. */
class TrialFailed extends Error {}

/** Finds QEMU and decides between KVM and emulation. KVM is used only if the guests' kernel was seen to run on it, once per host and kernel. */
export async function chooseEngine(guest: GuestArtifacts, context: StepContext): Promise<QemuEngine> {
  const engine = await detectEngine(guest.qemuPreloadPath);
  if (engine.acceleration !== 'kvm') return engine;
  const problem = await tryKvmOnce(engine, guest, context).catch((error: unknown) => {
    if (error instanceof TrialFailed) return error.message;
    throw error;
  });
  return problem === '' ? engine : emulating(engine, problem);
}

/** Why KVM cannot be used; empty if it can. */
async function tryKvmOnce(engine: QemuEngine, guest: GuestArtifacts, context: StepContext): Promise<string> {
  const { versionText, cpuModel, machineType, hostCpu = '' } = engine;
  const key = hashValues({ recipe, kernel: guest.keys.kernel, versionText, cpuModel, machineType, hostCpu });
  const folder = await ensureStep(context, 'trial of KVM', { kind: 'kvm-trial', key }, async (stagingDir) => {
    const unusable = await tryKernelOnKvm(engine, guest.kernelPath, context.signal);
    if (unusable?.isLasting === false) throw new TrialFailed(unusable.explanation);
    await writeFile(join(stagingDir, 'problem'), unusable?.explanation ?? '');
  });
  return await readFile(join(folder, 'problem'), 'utf8');
}
