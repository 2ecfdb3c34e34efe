import { type FoundTool, type HostFacts, requiredTools } from '../src/requirements/requirements.ts';

/** A Debian 12 host that has everything, with the given changes. */
export function hostFacts(
  changes: Partial<HostFacts> & { readonly without?: readonly string[]; readonly qemuVersion?: string } = {},
): HostFacts {
  const { without = [], qemuVersion = '10.0.2', ...facts } = changes;
  const tools = new Map<string, FoundTool>(
    requiredTools('arm64', 'tests')
      .filter(({ name }) => !without.includes(name))
      .map(({ name }) => [name, { path: `/usr/bin/${name}`, version: qemuVersion }]),
  );
  return {
    platform: 'linux',
    arch: 'arm64',
    isRoot: true,
    memory: { totalBytes: 24 * 2 ** 30, availableBytes: 20 * 2 ** 30 },
    cacheFreeBytes: 100 * 2 ** 30,
    distribution: { id: 'debian', codename: 'bookworm', name: 'Debian GNU/Linux 12 (bookworm)' },
    hasApt: true,
    tools,
    archives: [{ uri: 'http://mirror.test/debian', suite: 'bookworm' }],
    ...facts,
  };
}
