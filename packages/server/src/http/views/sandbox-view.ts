import { type DeletedSandbox, type Sandbox, type SandboxList, sizes } from '@mayfly/contract';
import type { SandboxRecord } from '../../core/ports/store/sandbox-store.ts';
import type { SandboxPage } from '../../core/sandboxes/list.ts';
import { isoOf, isoOrNull } from './iso-time.ts';

/** A sandbox as the interface shows it. */
export function sandboxView(record: SandboxRecord): Sandbox {
  const { vcpu, memoryGb, diskGb } = sizes[record.size];
  return {
    object: 'sandbox',
    id: record.id,
    name: record.name,
    status: record.status,
    status_reason: record.statusReason,
    size: record.size,
    resources: { vcpu, memory_gb: memoryGb, disk_gb: diskGb },
    timeout_minutes: record.timeoutMinutes,
    created_at: isoOf(record.createdAtMs),
    ready_at: isoOrNull(record.readyAtMs),
    expires_at: isoOrNull(record.expiresAtMs),
    deleted_at: isoOrNull(record.deletedAtMs),
  };
}

/** What a delete that is done answers. */
export function deletedSandboxView(record: SandboxRecord): DeletedSandbox {
  return { object: 'sandbox', id: record.id, status: 'deleted', deleted_at: isoOf(record.deletedAtMs ?? 0) };
}

/** One page of sandboxes. */
export function sandboxListView(page: SandboxPage): SandboxList {
  return {
    object: 'list',
    data: page.sandboxes.map(sandboxView),
    has_more: page.nextCursorMs !== null,
    next_cursor: isoOrNull(page.nextCursorMs),
  };
}
