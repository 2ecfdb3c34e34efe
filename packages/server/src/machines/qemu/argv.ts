import type { SizeResources } from '@mayfly/contract';
import { machineOptions, type QemuEngine } from './engine.ts';

/** A listening unix socket: a path where QEMU creates it, or the descriptor of one that the jail has opened. */
type SocketAddress = { readonly path: string } | { readonly fd: number };

interface ListeningSockets {
  readonly qmp: SocketAddress;
  readonly control: SocketAddress;
  readonly data: SocketAddress;
}

/** One layer of the root disk; the base comes first. Only the last layer is written to. */
interface DiskLayer {
  readonly format: 'raw' | 'qcow2';
  readonly path: string;
}

/** How fast a machine may use the file of its own disk layer. Reads and writes count separately. */
export interface DiskRates {
  readonly bytesPerSecond: number;
  readonly operationsPerSecond: number;
}

/** Ordinary work stays below them or within the burst; the database's commits keep their share of the disk beside a guest that writes endlessly. */
export const defaultDiskRates: DiskRates = { bytesPerSecond: 128 * 1024 ** 2, operationsPerSecond: 4_000 };

/** After a pause, a machine may use this many seconds' worth of its rates at once. */
const burstSeconds = 8;

/** Boot a kernel (to build a template), or wait for a saved state (every other machine). */
type Start =
  | { readonly kind: 'boot'; readonly kernelPath: string; readonly initrdPath: string; readonly consolePath: string }
  | { readonly kind: 'restore' };

export interface MachinePlan {
  readonly engine: Pick<
    QemuEngine,
    'arch' | 'acceleration' | 'machineType' | 'cpuModel' | 'reservesMemory' | 'preloadPath'
  >;
  readonly name: string;
  readonly resources: SizeResources;
  /** The RAM file: written when booting, mapped copy-on-write and read-only when restoring. */
  readonly ramPath: string;
  readonly disk: readonly DiskLayer[];
  /** Without them the disk is not limited. They do not belong to the device model. */
  readonly diskRates?: DiskRates | undefined;
  readonly sockets: ListeningSockets;
  /** The tap in QEMU's network namespace. */
  readonly tapName: string;
  readonly start: Start;
}

/** Size of QEMU's translation buffer. With 64 MiB emulation is ten times slower; the default of 1024 MiB is too much memory per machine. */
export const translationBufferMib = 256;

/** The same in every machine, because each has a network namespace of its own. */
const guestMac = '02:6d:66:00:00:02';

/**
 * The whole command line of one machine, without the program. Boot and restore differ only in the mapping of the RAM file, the rates of the
 * disk, the back end of the console and the start options. The device model must be the same, or a saved state does not load.
 */
export function buildArgv(plan: MachinePlan): string[] {
  const memoryMib = plan.resources.memoryGb * 1024;
  const reservation = plan.engine.reservesMemory ? '' : ',reserve=off';
  // With the preloaded library, QEMU asks to write the file, cannot, and can give pages back to the host.
  const access = plan.engine.preloadPath === undefined ? ',readonly=on,rom=off' : '';
  const sharing = plan.start.kind === 'boot' ? 'share=on' : `share=off${access}${reservation}`;
  return [
    ...['-name', quote(plan.name), '-nodefaults', '-no-user-config', '-display', 'none', '-no-reboot'],
    ...['-machine', `${machineOptions(plan.engine)},memory-backend=ram`, '-cpu', plan.engine.cpuModel],
    ...['-accel', plan.engine.acceleration === 'kvm' ? 'kvm' : `tcg,tb-size=${translationBufferMib},thread=multi`],
    ...['-smp', `cpus=${plan.resources.vcpu},sockets=1,cores=${plan.resources.vcpu},threads=1`, '-m', `${memoryMib}M`],
    ...['-object', `memory-backend-file,id=ram,size=${memoryMib}M,mem-path=${quote(plan.ramPath)},${sharing}`],
    ...['-rtc', 'base=utc,clock=host'],
    ...['-sandbox', 'on,obsolete=deny,elevateprivileges=deny,spawn=deny,resourcecontrol=deny'],
    ...['-chardev', socket('qmp', plan.sockets.qmp), '-mon', 'chardev=qmp,mode=control'],
    ...['-device', 'virtio-serial-pci,id=serial0,max_ports=4,disable-legacy=on'],
    ...socketPort('control', plan.sockets.control, 1),
    ...socketPort('data', plan.sockets.data, 2),
    ...(plan.diskRates ? ['-object', throttleGroup(plan.diskRates)] : []),
    ...blockdevs(plan.disk, plan.diskRates !== undefined),
    ...['-device', 'virtio-blk-pci,id=disk0,drive=root,disable-legacy=on,werror=report,rerror=report'],
    ...['-netdev', `tap,id=net,ifname=${quote(plan.tapName)},script=no,downscript=no`],
    ...['-device', `virtio-net-pci,netdev=net,mac=${guestMac},romfile=,disable-legacy=on`],
    ...['-object', 'rng-random,id=rng,filename=/dev/urandom', '-device', 'virtio-rng-pci,rng=rng,disable-legacy=on'],
    // The guest reports memory that it freed, and QEMU gives it back to the host.
    ...['-device', 'virtio-balloon-pci,id=balloon0,free-page-reporting=on,disable-legacy=on'],
    // A new generation with every restore, at which Linux reseeds its random numbers before anything else runs. Only x86 firmware offers it.
    ...(plan.engine.arch === 'x64' ? ['-device', 'vmgenid,guid=auto'] : []),
    ...startOptions(plan),
  ];
}

/** The kernel command line. Emulation does not speculate, so an emulated guest needs no mitigations. */
function kernelCommandLine({ arch, acceleration }: MachinePlan['engine']): string {
  return [
    `console=${arch === 'arm64' ? 'ttyAMA0' : 'ttyS0'}`,
    'quiet loglevel=4 panic=-1 net.ifnames=0 cgroup_no_v1=all audit=0 nowatchdog random.trust_cpu=on',
    // The kernel uses this timer only until the processors' own are calibrated, but QEMU would go on emulating its 250 ticks per second.
    ...(arch === 'x64' ? ['hpet=disable'] : []),
    ...(acceleration === 'tcg' ? ['mitigations=off'] : []),
  ].join(' ');
}

/** Escapes a value in QEMU's option syntax, where a comma separates options and two commas stand for one. */
function quote(value: string): string {
  return value.replaceAll(',', ',,');
}

function socket(id: string, address: SocketAddress): string {
  const where = 'fd' in address ? `fd=${address.fd}` : `path=${quote(address.path)}`;
  return `socket,id=${id},${where},server=on,wait=off`;
}

function socketPort(id: string, address: SocketAddress, portNumber: number): string[] {
  const device = `virtserialport,bus=serial0.0,nr=${portNumber},chardev=${id},name=mayfly.${id}`;
  return ['-chardev', socket(id, address), '-device', device];
}

/** Leaky buckets that a machine's disk passes through: they fill with the burst and drain at the rate. */
function throttleGroup({ bytesPerSecond, operationsPerSecond }: DiskRates): string {
  const limits = Object.fromEntries(
    ['read', 'write'].flatMap((direction) => [
      [`bps-${direction}`, bytesPerSecond],
      [`bps-${direction}-max`, bytesPerSecond * burstSeconds],
      [`iops-${direction}`, operationsPerSecond],
      [`iops-${direction}-max`, operationsPerSecond * burstSeconds],
    ]),
  );
  return JSON.stringify({ 'qom-type': 'throttle-group', id: throttleId, limits });
}

const throttleId = 'disk-rates';

function blockdevs(layers: readonly DiskLayer[], throttled: boolean): string[] {
  return layers.flatMap(({ format, path }, index) => {
    const isTop = index === layers.length - 1;
    const nodeName = isTop ? firstTopNode : sharedNode(index);
    const backing = index === 0 ? null : sharedNode(index - 1);
    const node = diskNode({ format, path, nodeName, backing, isTop, throttled: isTop && throttled });
    return ['-blockdev', JSON.stringify(node)];
  });
}

/** The node of the layer that a machine writes to from its start. */
export const firstTopNode = 'root';

/** The node of a layer below that, counted from the raw disk. */
function sharedNode(index: number): string {
  return `layer${index}`;
}

/** The node of a layer that is put on top of the disk of a running machine, without the link to the layer below. */
export function topLayerNode(nodeName: string, path: string): Record<string, unknown> {
  return diskNode({ format: 'qcow2', path, nodeName, backing: null, isTop: true, throttled: true });
}

interface DiskNode extends DiskLayer {
  readonly nodeName: string;
  readonly backing: string | null;
  readonly isTop: boolean;
  readonly throttled: boolean;
}

function diskNode({ format, path, nodeName, backing, isTop, throttled }: DiskNode): Record<string, unknown> {
  const file = {
    driver: 'file',
    filename: path,
    'read-only': !isTop,
    locking: 'off',
    ...(isTop ? { discard: 'unmap' } : {}),
  };
  // Below the format, so that clusters that were never written cost nothing to discard.
  const throttle = { driver: 'throttle', 'throttle-group': throttleId, 'read-only': false, discard: 'unmap', file };
  return {
    driver: format,
    'node-name': nodeName,
    'read-only': !isTop,
    ...(format === 'qcow2' ? { backing } : {}),
    ...(isTop ? { discard: 'unmap' } : {}),
    // A disposable disk does not have to survive a power cut of the host, so flushes need not reach the host's disk.
    cache: { direct: false, 'no-flush': true },
    file: throttled ? throttle : file,
  };
}

function startOptions(plan: MachinePlan): string[] {
  if (plan.start.kind === 'restore') {
    // What the guest's kernel prints goes to the log of the machine, which is kept small. Standard input is empty.
    const console = ['-chardev', 'stdio,id=console,signal=off', '-serial', 'chardev:console'];
    return [...console, '-S', '-incoming', 'defer'];
  }
  const { kernelPath, initrdPath, consolePath } = plan.start;
  const console = ['-serial', `file:${quote(consolePath)}`];
  return [...console, '-kernel', kernelPath, '-initrd', initrdPath, '-append', kernelCommandLine(plan.engine)];
}
