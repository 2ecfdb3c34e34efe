import type { Sandbox } from '@mayfly/contract';

/** What the words before a colon in `status_reason` mean. */
const meanings: Readonly<Record<string, string>> = {
  expired: 'Its lifetime was over',
  deleted: 'Deleted by you or a program',
  deleted_by_operator: 'Deleted by the operator',
  service_stopped: 'The service was stopped',
  provisioning_failed: 'It could not be created',
  machine_died: 'Its machine ended',
  evicted: 'The host ran short',
};

/** Returns why a sandbox has its status, as a sentence without a full stop; undefined while it is healthy. */
export function describeReason({ status_reason }: Pick<Sandbox, 'status_reason'>): string | undefined {
  if (status_reason === null) return undefined;
  const [, code = '', detail = ''] = /^([a-z_]+)(?:: (.*))?$/s.exec(status_reason) ?? [];
  const meaning = Object.hasOwn(meanings, code) ? meanings[code] : undefined;
  if (meaning === undefined) return status_reason;
  return detail === '' ? meaning : `${meaning}: ${detail}`;
}
