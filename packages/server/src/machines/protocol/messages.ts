import { sizeNames } from '@mayfly/contract';
import { z } from 'zod';
import { machineIdPattern } from '../../core/ports/machine-driver.ts';

/**
 * The protocol between the service and the host process: lines of JSON over one unix socket. The service sends calls, the host process
 * answers each and sends events. Calls contain ids, sizes and enumerations only; the host process decides which files, processes and networks they
 * mean.
 */

/** Increase it with every change that the other side would misunderstand. Both sides name theirs first, and different ones do not talk. */
export const protocolVersion = 4;

/** Names the protocol in the first line of both sides. */
const protocolName = 'mayfly-host';

/** The most entries of an egress list, and the most bytes of one: `*.` and a domain name. */
export const maxEgressEntries = 1_000;
const maxEgressEntryBytes = 255;

/** The longest call is an egress list with as many names as possible, each with its quotes and comma. */
export const maxCallBytes: number = maxEgressEntries * (maxEgressEntryBytes + 3) + 1_024;

/** How many machines one answer lists. */
export const machinesPerPage = 32;

/** The longest message of the host process is a page of machines that have all exited: up to 4 KiB each. */
export const maxHostMessageBytes: number = machinesPerPage * 4_096;

/** How many snapshots one answer lists, and how many files one of them has at most. */
export const snapshotsPerPage = 16;
const maxSnapshotFiles = 64;

/** The most calls that the host process works on at once, besides saves. The service keeps below it, so that it can always cancel a launch. */
export const maxCallsInFlight = 32;

/** How many saves the host process works on at once. A save can take minutes, so it takes no place among the other calls. */
export const maxSavesInFlight = 2;

const machineId = z.string().regex(machineIdPattern);
const snapshotId = z.string().regex(machineIdPattern);
const callId = z.int().positive();
const size = z.enum(sizeNames);
/** Characters of IPv4 addresses, CIDR blocks and names, with a leading `*.` for all names below. The host process checks them further. */
const egressEntry = z
  .string()
  .max(maxEgressEntryBytes)
  .regex(/^(?:\*\.)?[a-z0-9_](?:[a-z0-9_-]|\.(?=[a-z0-9_]))*(?:\/[0-9]{1,2})?$/);
const egress = z.union([
  z.enum(['all', 'none']),
  z.strictObject({ allow: z.array(egressEntry).max(maxEgressEntries) }),
]);

/** The first line of each side. Further fields are ignored, so that any two versions can tell each other apart. */
export const serviceHello = z.object({ hello: z.literal(protocolName), version: z.int() });

const launch = z.strictObject({
  id: callId,
  call: z.literal('launch'),
  machine: machineId,
  size,
  egress,
  snapshot: snapshotId.optional(),
});
const cancel = z.strictObject({ id: callId, call: z.literal('cancel'), launch: callId });
const list = z.strictObject({ id: callId, call: z.literal('list'), after: machineId.optional() });
const setEgress = z.strictObject({ id: callId, call: z.literal('set_egress'), machine: machineId, egress });
const save = z.strictObject({ id: callId, call: z.literal('save'), machine: machineId, snapshot: snapshotId });
const snapshots = z.strictObject({ id: callId, call: z.literal('snapshots'), after: snapshotId.optional() });
const deleteSnapshot = z.strictObject({ id: callId, call: z.literal('delete_snapshot'), snapshot: snapshotId });
const onMachine = z.strictObject({
  id: callId,
  call: z.enum(['pause', 'resume', 'usage', 'destroy']),
  machine: machineId,
});

/**
 * A call of the service. Ids increase along a connection.
 * - `list`: a page of the machines that exist, in the order of their ids, after the given one.
 * - `launch`, and `cancel` of the launch with that call id. A cancelled launch still gets its answer.
 * - `pause`, `resume`, `usage`, `set_egress`: of a machine that exists.
 * - `destroy`: succeeds for a machine that does not exist.
 * - `save`: keeps memory and disk of a machine under the id of a snapshot. Goes on when the connection ends.
 * - `snapshots`: a page of the snapshots on disk, in the order of their ids, after the given one.
 * - `delete_snapshot`: succeeds for a snapshot that does not exist.
 */
export const hostCall = z.discriminatedUnion('call', [
  launch,
  cancel,
  list,
  setEgress,
  save,
  snapshots,
  deleteSnapshot,
  onMachine,
]);
export type HostCall = z.infer<typeof hostCall>;

const exit = z.strictObject({
  requested: z.boolean(),
  reason: z.string().max(400),
  detail: z.string().max(400).optional(),
});

/** Why a call failed: for programs. The message next to it is for the log; the message of `unusable_snapshot` is for the owner of the snapshot. */
const failureCodes = [
  'unknown_machine',
  'machine_exists',
  'too_many_machines',
  'disk_full',
  'unusable_snapshot',
  'cancelled',
  'too_late',
  'failed',
] as const;
export type FailureCode = (typeof failureCodes)[number];

/** A snapshot on disk. The ids of its files are opaque: the same id is the same file. */
const storedSnapshot = z.strictObject({
  snapshot: snapshotId,
  size,
  files: z
    .array(z.strictObject({ id: z.string().regex(/^[a-z0-9:_-]{1,100}$/), bytes: z.number().nonnegative() }))
    .max(maxSnapshotFiles),
});
export type ListedSnapshot = z.infer<typeof storedSnapshot>;

/** What the calls answer. Those that are missing here answer nothing but their success. */
export const results = {
  list: z.strictObject({
    /** A machine that has exited is listed with its exit until it is destroyed. */
    machines: z.array(z.strictObject({ machine: machineId, size, exit: exit.optional() })).max(machinesPerPage),
    more: z.boolean(),
  }),
  usage: z.strictObject({ memory_bytes: z.number(), disk_bytes: z.number() }),
  save: z.strictObject({ paused_ms: z.number().nonnegative(), snapshot: storedSnapshot }),
  snapshots: z.strictObject({ snapshots: z.array(storedSnapshot).max(snapshotsPerPage), more: z.boolean() }),
  none: z.strictObject({}),
} as const;
export type MachinesPage = z.infer<typeof results.list>;
export type SnapshotsPage = z.infer<typeof results.snapshots>;

/** What all machines together may still take, in bytes; null without a limit. */
const memoryLeft = z.number().nullable();

const hostHello = z.object({
  hello: z.literal(protocolName),
  version: z.int(),
  driver: z.object({ engine: z.string().max(32), acceleration: z.string().max(32) }),
  memory_left_bytes: memoryLeft,
});

/** The first line of the host process: a greeting, or why it refuses to talk, together with its version. */
export const hostGreeting = z.union([
  hostHello,
  z.object({ hello: z.literal(protocolName), version: z.int(), refused: z.string().max(400) }),
]);
export type HostGreeting = z.infer<typeof hostGreeting>;

/** Every later line of the host process. The memory event also shows that it is alive. */
export const hostMessage = z.union([
  z.strictObject({ id: callId, ok: z.unknown() }),
  z.strictObject({ id: callId, error: z.strictObject({ code: z.enum(failureCodes), message: z.string().max(400) }) }),
  z.strictObject({ event: z.literal('memory'), left_bytes: memoryLeft }),
  z.strictObject({ event: z.literal('exited'), machine: machineId, exit }),
]);
export type HostMessage = z.infer<typeof hostMessage>;

/** How often the host process sends the memory event. */
export const memoryPeriodMs = 250;

/** The first line of the service. */
export const ownHello = { hello: protocolName, version: protocolVersion } as const;
