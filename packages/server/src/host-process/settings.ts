import { z } from 'zod';
import type { QemuDriverOptions } from '../machines/qemu/driver.ts';
import { StartFailure } from '../process/start-failure.ts';

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null;
const bytes = z.number().positive();

/** What set-up detected and built is passed on as it is. */
const settings = z.strictObject({
  dataDir: z.string().startsWith('/'),
  /** The group of the service. */
  serviceGid: z.int().nonnegative(),
  /** How many machines the service may have at once; the default of the host process when absent. */
  maxMachines: z.int().positive().optional(),
  /** What launches leave of the data folder's file system. */
  diskReserveBytes: z.number().nonnegative(),
  logLevel: z.string(),
  engine: z.custom<QemuDriverOptions['engine']>(isObject),
  templates: z.custom<QemuDriverOptions['templates']>(isObject),
  tools: z.strictObject({ jailPath: z.string(), netPath: z.string(), ramPath: z.string() }),
  diskRates: z.strictObject({ bytesPerSecond: bytes, operationsPerSecond: z.number().positive() }),
  memoryBytes: bytes,
  refusedRanges: z.array(z.string()),
});

/** Everything a host process is told. The supervisor, which is root too, writes it; the service has no influence on it. */
export type HostSettings = z.infer<typeof settings>;

/**
 * Parses the document on standard input. Throws StartFailure, which names the first field that does not fit: the writer of the settings keeps writing
 * the same ones.
 */
export function parseHostSettings(text: string): HostSettings {
  let document: unknown;
  try {
    document = JSON.parse(text);
  } catch (cause) {
    throw new StartFailure(
      'The settings of the host process are not JSON. npm start writes them to its standard input.',
      { cause },
    );
  }
  const parsed = settings.safeParse(document);
  if (parsed.success) return parsed.data;
  const [issue] = parsed.error.issues;
  throw new StartFailure(
    `The settings of the host process do not fit: ${issue?.path.join('.')}: ${issue?.message}. Mayfly was probably changed while it ran. Restart npm start; sandboxes stay alive.`,
  );
}
