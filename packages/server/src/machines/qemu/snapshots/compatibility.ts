import type { SizeName } from '@mayfly/contract';
import { SnapshotUnusable } from '../../../core/ports/machine-driver.ts';
import { isOlder, type QemuEngine, type QemuVersion } from '../engine.ts';
import { deviceModelHash } from '../template/template.ts';
import { whyOtherCpu } from './host-cpu.ts';
import type { MachineRequirements, SnapshotManifest } from './snapshot-folder.ts';

/** The oldest QEMU that can write memory to fixed places of a file while the machine runs. */
const oldestSavingQemu: QemuVersion = { major: 9, minor: 0 };

/** Why machines of this engine cannot be saved, and what to do about it; undefined when they can. */
export function whyNotSavable(engine: Pick<QemuEngine, 'versionText' | 'preloadPath'>): string | undefined {
  const version = versionIn(engine.versionText);
  if (version === undefined || isOlder(version, oldestSavingQemu)) {
    return `Snapshots need QEMU 9.0 or newer, and this host has ${engine.versionText}. Install a newer QEMU.`;
  }
  if (engine.preloadPath === undefined) {
    return 'Snapshots need the library qemu-preload, which set-up did not build. Run npm start to build it.';
  }
  return undefined;
}

/** What a copy of a machine that this engine launches will need. */
export function requirementsOf(engine: QemuEngine, size: SizeName): MachineRequirements {
  const { arch, acceleration, machineType, versionText, cpuModel, hostCpu = null } = engine;
  const deviceModel = deviceModelHash(engine, size);
  return { size, arch, acceleration, machineType, qemuVersion: versionText, cpuModel, hostCpu, deviceModel };
}

/**
 * The engine that restores a snapshot: this host's, with the snapshot's type of machine, so that snapshots still load after an upgrade of QEMU, and with
 * emulation the snapshot's model of the CPU, which does not depend on the host. Throws SnapshotUnusable when this host cannot run it.
 */
export function engineFor(manifest: SnapshotManifest, engine: QemuEngine): QemuEngine {
  const refuse = (what: string, theirs: string, ours: string): never => {
    throw new SnapshotUnusable(
      `The snapshot ${manifest.id} cannot run on this host: it was saved with ${what} ${theirs}, and this host has ${ours}.`,
    );
  };
  const why = whyNotSavable(engine);
  if (why !== undefined) throw new SnapshotUnusable(`The snapshot ${manifest.id} cannot run on this host. ${why}`);
  if (manifest.arch !== engine.arch) refuse('the architecture', manifest.arch, engine.arch);
  if (manifest.acceleration !== engine.acceleration) {
    refuse('the acceleration', manifest.acceleration, engine.acceleration);
  }
  const otherCpu = whyOtherCpu(manifest.hostCpu ?? '', engine.hostCpu ?? '');
  if (otherCpu !== undefined) {
    throw new SnapshotUnusable(`The snapshot ${manifest.id} cannot run on this host: ${otherCpu}.`);
  }
  if (engine.acceleration === 'kvm' && manifest.cpuModel !== engine.cpuModel) {
    refuse('the CPU model', manifest.cpuModel, engine.cpuModel);
  }
  const ours = versionIn(engine.versionText);
  const needed = versionIn(manifest.machineType);
  if (ours === undefined || needed === undefined || isOlder(ours, needed)) {
    refuse('the machine type', manifest.machineType, `QEMU ${engine.versionText}`);
  }
  const fitting = { ...engine, machineType: manifest.machineType, cpuModel: manifest.cpuModel };
  const deviceModel = deviceModelHash(fitting, manifest.size);
  if (manifest.deviceModel !== deviceModel) refuse('the devices', manifest.deviceModel, deviceModel);
  return fitting;
}

/**
 * Why the state of a snapshot that engineFor accepted could not be loaded: the error itself, unless QEMU, or with KVM the host's kernel or microcode, is another
 * than at the save. Those usually load what others saved, but not always.
 */
export function explainFailedLoad(error: unknown, manifest: SnapshotManifest, engine: QemuEngine): unknown {
  const { id, qemuVersion, hostCpu } = manifest;
  const isOtherQemu = qemuVersion !== engine.versionText;
  const isOtherHost = hostCpu !== (engine.hostCpu ?? null);
  if (!isOtherQemu && !isOtherHost) return error;
  const saved = [
    ...(isOtherQemu ? [`with QEMU ${qemuVersion}`] : []),
    ...(isOtherHost ? ['with another kernel, microcode or stepping of the processor'] : []),
  ].join(' and ');
  const here = isOtherQemu ? `with QEMU ${engine.versionText}` : 'on this host';
  return new SnapshotUnusable(`The snapshot ${id} was saved ${saved} and could not be launched ${here}.`, {
    cause: error,
  });
}

/** The first version number in a text such as "10.0.2 (Debian …)" or "virt-10.0". */
function versionIn(text: string): QemuVersion | undefined {
  const match = /(?:^|-)(\d+)\.(\d+)/.exec(text);
  return match ? { major: Number(match[1]), minor: Number(match[2]) } : undefined;
}
