import type { ClosedPort, Port, PortList } from '@mayfly/contract';
import type { PreviewRecord } from '../../core/ports/store/preview-store.ts';
import { isoOf } from './iso-time.ts';

/** An open preview as the interface shows it. */
export function portView(
  { sandboxId, port, token, createdAtMs }: PreviewRecord,
  urlOf: (token: string) => string,
): Port {
  return {
    object: 'port',
    sandbox_id: sandboxId,
    port,
    url: urlOf(token),
    created_at: isoOf(createdAtMs),
  };
}

/** All open previews of a sandbox. */
export function portListView(previews: readonly PreviewRecord[], urlOf: (token: string) => string): PortList {
  return { object: 'list', data: previews.map((preview) => portView(preview, urlOf)) };
}

/** What closing a preview answers. */
export function closedPortView(sandboxId: string, port: number): ClosedPort {
  return { object: 'port', sandbox_id: sandboxId, port, deleted: true };
}
