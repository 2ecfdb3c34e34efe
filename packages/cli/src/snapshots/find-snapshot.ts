import type { Mayfly, Snapshot } from '@mayfly/sdk';
import { Failure } from '../cli-io.ts';

/** The argument of commands on one snapshot. */
export const snapshotArgument = ['<snapshot>', 'its whole id or its alias'] as const;

/** The snapshot with this id or alias. Throws a Failure if there is none. */
export async function findSnapshot(mayfly: Mayfly, text: string, signal: AbortSignal): Promise<Snapshot> {
  for await (const snapshot of mayfly.snapshots.list({ signal })) {
    if (snapshot.id === text || snapshot.alias === text) return snapshot;
  }
  const message = `There is no snapshot ${JSON.stringify(text)}. List them with: mayfly snapshots`;
  throw new Failure(message, { type: 'not_found' });
}
