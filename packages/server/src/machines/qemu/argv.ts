import type { SizeResources } from '@mayfly/contract';
import type { QemuEngine } from './host/engine.ts';

/** A listening unix socket: one that QEMU is to make, or one that the jail has made for it. */
export type SocketAddress = { readonly path: string } | { readonly fd: number };

/** Where QEMU listens. */
export interface ListeningSockets {
  readonly qmp: SocketAddress;
  readonly control: SocketAddress;
  readonly data: SocketAddress;
}

/** One layer of the root disk, base first. Only the last layer is written. */
export interface DiskLayer {
  readonly format: 'raw' | 'qcow2';
  readonly path: string;
}

/** A kernel to boot (building a template), or a saved machine to wait for (everything else). */
export type Start =
  | { readonly kind: 'boot'; readonly kernelPath: string; readonly initrdPath: string; readonly consolePath: string }
  | { readonly kind: 'restore' };

export interface MachinePlan {
  readonly engine: Pick<QemuEngine, 'arch' | 'acceleration' | 'machineType'>;
  readonly name: string;
  readonly resources: SizeResources;
  /** The RAM file: written when booting, mapped copy-on-write and read-only when restoring. */
  readonly ramPath: string;
  readonly disk: readonly DiskLayer[];
  readonly sockets: ListeningSockets;
  /** The tap in QEMU's network namespace. */
  readonly tapName: string;
  readonly start: Start;
}

/** QEMU's translation buffer in MiB: at 64 it runs ten times slower, the default of 1024 is paid by every machine. */
const translationBufferMib = 256;

/** The same in every machine: each has a network namespace of its own. */
const guestMac = '02:6d:66:00:00:02';

/** Emulated, pointer authentication and scalable vectors cost far more than they give; with KVM the guest has the host's own CPU. */
const cpuModel = ({ arch, acceleration }: MachinePlan['engine']): string => {
  if (acceleration === 'kvm') return 'host';
  return arch === 'arm64' ? 'max,pauth=off,sve=off,sme=off' : 'max,la57=off';
};

const machineOptions = ({ arch, acceleration, machineType }: MachinePlan['engine']): string => {
  const interrupts = arch === 'arm64' ? `,gic-version=${acceleration === 'kvm' ? 'host' : '3'}` : '';
  return `${machineType},memory-backend=ram,dump-guest-core=off,usb=off${interrupts}`;
};

/** The kernel command line. Emulation does not speculate, so its guests need no mitigations; others keep them. */
export const kernelCommandLine = ({ arch, acceleration }: MachinePlan['engine']): string =>
  [
    `console=${arch === 'arm64' ? 'ttyAMA0' : 'ttyS0'}`,
    'quiet loglevel=4 panic=-1 net.ifnames=0 cgroup_no_v1=all audit=0 nowatchdog random.trust_cpu=on',
    ...(acceleration === 'tcg' ? ['mitigations=off'] : []),
  ].join(' ');

/** Commas separate options in QEMU's syntax; a comma in a value is doubled. */
const quote = (value: string): string => value.replaceAll(',', ',,');

const socket = (id: string, address: SocketAddress): string => {
  const where = 'fd' in address ? `fd=${address.fd}` : `path=${quote(address.path)}`;
  return `socket,id=${id},${where},server=on,wait=off`;
};

const socketPort = (id: string, address: SocketAddress, portNumber: number): string[] => [
  '-chardev',
  socket(id, address),
  '-device',
  `virtserialport,bus=serial0.0,nr=${portNumber},chardev=${id},name=mayfly.${id}`,
];

const blockdevs = (layers: readonly DiskLayer[]): string[] =>
  layers.flatMap(({ format, path }, index) => {
    const top = index === layers.length - 1;
    const node = {
      driver: format,
      'node-name': top ? 'root' : `layer${index}`,
      'read-only': !top,
      ...(format === 'qcow2' ? { backing: index === 0 ? null : `layer${index - 1}` } : {}),
      ...(top ? { discard: 'unmap' } : {}),
      // Nothing in a disposable disk must survive the host's power cut: flushes end in the page cache.
      cache: { direct: false, 'no-flush': true },
      file: { driver: 'file', filename: path, 'read-only': !top, locking: 'off', ...(top ? { discard: 'unmap' } : {}) },
    };
    return ['-blockdev', JSON.stringify(node)];
  });

const startOptions = (plan: MachinePlan): string[] => {
  if (plan.start.kind === 'restore') return ['-serial', 'null', '-S', '-incoming', 'defer'];
  const { kernelPath, initrdPath, consolePath } = plan.start;
  const console = ['-serial', `file:${quote(consolePath)}`];
  return [...console, '-kernel', kernelPath, '-initrd', initrdPath, '-append', kernelCommandLine(plan.engine)];
};

/**
 * The whole command line of one machine, without the program. Booting and restoring differ only in how the RAM file is
 * mapped, in the console's far end and in the start: the device model is the same, or a saved state would not load.
 */
export const buildArgv = (plan: MachinePlan): string[] => {
  const memoryMib = plan.resources.memoryGb * 1024;
  const sharing = plan.start.kind === 'boot' ? 'share=on' : 'share=off,readonly=on,rom=off';
  return [
    ...['-name', quote(plan.name), '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ...['-machine', machineOptions(plan.engine), '-cpu', cpuModel(plan.engine)],
    ...['-accel', plan.engine.acceleration === 'kvm' ? 'kvm' : `tcg,tb-size=${translationBufferMib},thread=multi`],
    ...['-smp', `cpus=${plan.resources.vcpu},sockets=1,cores=${plan.resources.vcpu},threads=1`, '-m', `${memoryMib}M`],
    ...['-object', `memory-backend-file,id=ram,size=${memoryMib}M,mem-path=${quote(plan.ramPath)},${sharing}`],
    ...['-rtc', 'base=utc,clock=host'],
    ...['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
    ...['-chardev', socket('qmp', plan.sockets.qmp), '-mon', 'chardev=qmp,mode=control'],
    ...['-device', 'virtio-serial-pci,id=serial0,max_ports=4,disable-legacy=on'],
    ...socketPort('control', plan.sockets.control, 1),
    ...socketPort('data', plan.sockets.data, 2),
    ...blockdevs(plan.disk),
    ...['-device', 'virtio-blk-pci,id=disk0,drive=root,disable-legacy=on,werror=report,rerror=report'],
    ...['-netdev', `tap,id=net,ifname=${quote(plan.tapName)},script=no,downscript=no`],
    ...['-device', `virtio-net-pci,netdev=net,mac=${guestMac},romfile=,disable-legacy=on`],
    ...['-object', 'rng-random,id=rng,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng,disable-legacy=on'],
    ...startOptions(plan),
  ];
};
