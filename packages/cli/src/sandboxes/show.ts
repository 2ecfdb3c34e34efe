import { type Sandbox, type SandboxInfo, toApi } from '@mayfly/sdk';
import { formatDuration } from '../numbers.ts';
import { type Color, type Column, fields, list, type Screen } from '../output.ts';
import { apiList } from '../service/service-command.ts';

/** The argument of commands on one sandbox. */
export const sandboxArgument = ['<sandbox>', 'its id, its name, or the beginning of its id'] as const;

const colors: Readonly<Record<SandboxInfo['status'], Color | undefined>> = {
  provisioning: 'yellow',
  running: 'green',
  deleting: 'yellow',
  deleted: undefined,
  failed: 'red',
};

/** One sandbox: what it is on a terminal, its id for programs. */
export function showSandbox({ id, info }: Sandbox, screen: Screen): string {
  if (!screen.isTerminal) return `${id}\n`;
  return fields(
    {
      Sandbox: id,
      ...(info.name !== null && { Name: info.name }),
      Status: info.status,
      Size: info.size,
      ...(info.expiresAt !== null && { Expires: showExpiry(info.expiresAt, screen) }),
    },
    screen,
  );
}

/** When a sandbox expires, on a terminal with the time until then. */
export function showExpiry(expiresAt: Date, { isTerminal, nowMs }: Screen): string {
  const at = expiresAt.toISOString();
  return isTerminal ? `${at} (in ${formatDuration(expiresAt.getTime() - nowMs)})` : at;
}

/** Sandboxes as a table. */
export function showSandboxes(sandboxes: readonly Sandbox[], screen: Screen): string {
  const { nowMs } = screen;
  const columns: readonly Column<Sandbox>[] = [
    { heading: 'ID', value: ({ id }) => id },
    { heading: 'NAME', value: ({ name }) => name ?? '-', exact: ({ name }) => name ?? '', isFlexible: true },
    {
      heading: 'STATUS',
      value: ({ info }) => statusOf(info),
      exact: ({ status }) => status,
      color: ({ status }) => colors[status],
    },
    { heading: 'SIZE', value: ({ info }) => info.size },
    {
      heading: 'AGE',
      value: ({ info }) => formatDuration(nowMs - info.createdAt.getTime()),
      exact: ({ info }) => info.createdAt.toISOString(),
    },
    {
      heading: 'EXPIRES IN',
      value: ({ info: { endedAt, expiresAt } }) =>
        expiresAt === null || endedAt !== null ? '-' : formatDuration(expiresAt.getTime() - nowMs),
      exact: ({ expiresAt }) => expiresAt?.toISOString() ?? '',
    },
  ];
  return list(sandboxes, columns, screen);
}

/** The status with the reason for it, as far as one word says it: `failed: machine_died`. */
function statusOf({ status, statusReason }: SandboxInfo): string {
  const reason = statusReason?.split(':')[0];
  return reason === undefined || reason === status ? status : `${status}: ${reason}`;
}

/** A sandbox as the API sends it. */
export function sandboxJson({ info }: Sandbox): unknown {
  return toApi(info);
}

/** Sandboxes as the API sends them. */
export function sandboxListJson(sandboxes: readonly Sandbox[]): unknown {
  return apiList(sandboxes.map(sandboxJson));
}
