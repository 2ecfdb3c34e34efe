/** The entry `@mayfly/server/machines`: what set-up needs to check a host and to build templates. */
export { machineDeadlines } from '../core/ports/machine-deadlines.ts';
export { checkHostSupport, describeHostProblems, type HostPaths } from './qemu/check-host.ts';
export type { HostTools } from './qemu/driver.ts';
export { detectEngine, emulating, type QemuEngine } from './qemu/engine.ts';
export { hostCapabilities } from './qemu/host-capabilities.ts';
export { tryKernelOnKvm } from './qemu/kvm-guest.ts';
export type { HostProblem } from './qemu/network/check-support.ts';
export { takeDownUnusedHost } from './qemu/network/host/host-network.ts';
export { findLegacyDrop } from './qemu/network/host/legacy-firewall.ts';
export { hostStateDir } from './qemu/network/plan/address-plan.ts';
export { BootStalled, maxBootAttempts } from './qemu/template/boot-watch.ts';
export { buildTemplate, type WarmUp } from './qemu/template/build.ts';
export { openTemplate, type Template, templateKey } from './qemu/template/template.ts';
