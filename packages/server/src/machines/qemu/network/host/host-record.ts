import { z } from 'zod';

/** The form of the host's record on disk. */
export const hostRecordSchema = z.object({
  /** Where link addresses come from, as a CIDR. */
  range: z.string(),
  /** Interfaces whose forwarding was off before Mayfly switched it on. */
  switchedOn: z.array(z.string()),
  /** Whether the mount of /run/netns is Mayfly's doing. */
  madeNetnsMount: z.boolean(),
  /** The digest of the table that was loaded last; empty before. */
  rulesetDigest: z.string(),
});

/** What Mayfly did to this host; all services of the host share it, under the host's lock. */
export type HostRecord = z.infer<typeof hostRecordSchema>;
