import { fixedLimits } from '@mayfly/contract';
import { z } from 'zod';

const count = z.int().min(0);
const unixNs = z
  .string()
  .regex(/^[0-9]{1,19}$/)
  .transform((digits) => BigInt(digits));

/** The body of `GET /hello`. */
export const helloAnswer = z
  .object({ protocol: z.literal(1), boot_ms: count })
  .transform((hello) => ({ protocol: hello.protocol, bootMs: hello.boot_ms }));

/** The body of `POST /identity` and `POST /clock`: the guest's clock in nanoseconds. */
export const clockAnswer = z.object({ unix_ns: unixNs }).transform((clock) => clock.unix_ns);

/** The body of `GET /figures`. */
export const statsAnswer = z
  .object({
    cpu: z.object({ count: count.max(4_096), user_us: count, system_us: count }),
    memory: z.object({ total_bytes: count, available_bytes: count }),
    disk: z.object({ total_bytes: count, free_bytes: count }),
    network: z.object({ rx_bytes: count, tx_bytes: count }),
    processes: count.max(2 ** 22),
    uptime_ms: count,
  })
  .transform(({ cpu, memory, disk, network, processes, uptime_ms }) => ({
    cpu: { count: cpu.count, userUs: cpu.user_us, systemUs: cpu.system_us },
    memory: { totalBytes: memory.total_bytes, availableBytes: memory.available_bytes },
    disk: { totalBytes: disk.total_bytes, freeBytes: disk.free_bytes },
    network: { rxBytes: network.rx_bytes, txBytes: network.tx_bytes },
    processes,
    uptimeMs: uptime_ms,
  }));

/** The first frame of an execution. */
export const executionStarted = z.object({ started_at_ms: count });

/** The last frame of an execution. */
export const executionEnded = z.object({
  exit_code: z.int().min(0).max(255),
  signal: z.int().min(0).max(128),
  timed_out: z.boolean(),
  oom_killed: z.boolean(),
  duration_ms: count,
  started_at_ms: count,
  finished_at_ms: count,
  stdout_bytes: count,
  stderr_bytes: count,
  truncated: z.boolean(),
});

/** The body of `GET /terminals`. */
export const terminalList = z.object({ terminals: z.array(z.string().min(1).max(128)).max(64) });

/** The frames of a terminal. */
export const terminalPosition = z.object({ position: count, end: count });
export const terminalSize = z.object({
  cols: z.int().min(1).max(fixedLimits.terminalCols),
  rows: z.int().min(1).max(fixedLimits.terminalRows),
});
export const terminalExit = z.object({ exit_code: z.int().min(0).max(255) });

/** Output of a live command that was dropped. */
export const outputGap = z.object({ bytes: count.min(1) });

const absolutePath = z.string().min(1).max(8_192).startsWith('/');

/** The body of `PUT /files`. */
export const fileWritten = z
  .object({ path: absolutePath, bytes: count })
  .transform(({ bytes }) => ({ sizeBytes: bytes }));

/** The body of `DELETE /files`. */
export const fileDeleted = z.object({ path: absolutePath }).transform(() => undefined);

const slash = 0x2f;

/** A Linux file name: 1 to 255 bytes without NUL and slash. */
const entryName = z
  .base64()
  .max(340)
  .transform((text) => Buffer.from(text, 'base64'))
  .refine((name) => name.length > 0 && name.length <= 255 && !name.includes(0) && !name.includes(slash));

const entry = z
  .object({ name_base64: entryName, type: z.enum(['file', 'dir', 'symlink', 'other']), size_bytes: count.nullable() })
  .transform(({ name_base64: name, type, size_bytes: sizeBytes }) => ({ name, type, sizeBytes }));

/** Some of the entries in the body of `GET /files/list`. */
export const listingEntries = z.array(entry);

/** The fields before the entries in the body of `GET /files/list`. */
export const listingPath = z.object({ path: absolutePath });

/** The body of every refusal. */
export const refusalAnswer = z.object({
  code: z.enum([
    'bad_request',
    'not_found',
    'exists',
    'permission',
    'is_directory',
    'not_directory',
    'not_regular',
    'not_empty',
    'no_space',
    'read_only',
    'too_large',
    'name_too_long',
    'symlink_loop',
    'bad_cwd',
    'arguments_too_large',
    'too_many',
    'refused',
    'internal',
  ]),
  message: z.string().max(1_024),
});
