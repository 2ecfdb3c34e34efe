import { type Account, type Sandbox, type SizeName, type Snapshot, sizeNames, sizes } from '@mayfly/contract';
import type { ApiKey, Session, SessionSummary } from '@mayfly/contract/dashboard';

// What a busy account looks like: every status, long names, text that tries to be markup.

const minuteMs = 60_000;
const hourMs = 60 * minuteMs;

/** The time so long before now, as the service prints it. */
function ago(ms: number): string {
  return new Date(Date.now() - ms).toISOString();
}

export const session: Session = {
  object: 'session',
  account: { id: 'acct_h6k3vz5p2wq7mx4tnb3ycdrf', email: 'ada@example.com' },
  created_at: ago(3 * hourMs),
  expires_at: ago(-7 * 24 * hourMs),
  has_password: true,
  two_factor: false,
  may_set_password: false,
};

export const account: Account = {
  object: 'account',
  id: session.account.id,
  email: session.account.email,
  balance_usd: 98.7512,
  limits: { concurrent_sandboxes: 20, max_timeout_minutes: 1440 },
  pricing_usd_per_hour: { small: 0.05, medium: 0.1, large: 0.2 },
};

interface SandboxSample {
  readonly id: string;
  readonly name: string | null;
  readonly size?: SizeName;
  readonly ageMs: number;
  readonly lifetimeMinutes: number;
  readonly status?: Sandbox['status'];
  readonly reason?: string;
  readonly endedAgoMs?: number;
}

export function sandbox(sample: SandboxSample): Sandbox {
  const { id, name, size = 'small', ageMs, lifetimeMinutes, status = 'running', reason, endedAgoMs } = sample;
  const isReady = status !== 'provisioning' && !reason?.startsWith('provisioning_failed');
  const endedAt = endedAgoMs === undefined ? null : ago(endedAgoMs);
  const { vcpu, memoryGb, diskGb } = sizes[size];
  return {
    object: 'sandbox',
    id,
    name,
    status,
    status_reason: reason ?? null,
    size,
    resources: { vcpu, memory_gb: memoryGb, disk_gb: diskGb },
    snapshot_id: null,
    timeout_minutes: lifetimeMinutes,
    created_at: ago(ageMs),
    ready_at: isReady ? ago(ageMs - 700) : null,
    expires_at: isReady ? ago(ageMs - 700 - lifetimeMinutes * minuteMs) : null,
    ended_at: endedAt,
    deleted_at: status === 'deleted' ? endedAt : null,
  };
}

export const sandboxes: readonly Sandbox[] = [
  sandbox({
    id: 'sbx_4w5pz2hq7m3kx6tn2ab7cdfe',
    name: 'pull request 1841',
    ageMs: 300,
    lifetimeMinutes: 15,
    status: 'provisioning',
  }),
  sandbox({
    id: 'sbx_q2m7rk4t5x3vb6ynz7pahcdw',
    name: 'nightly build',
    size: 'large',
    ageMs: 14 * minuteMs,
    lifetimeMinutes: 120,
  }),
  sandbox({
    id: 'sbx_m4t7xk2q5w3vb6ynz7pahcdr',
    name: 'notebook of Grace',
    size: 'medium',
    ageMs: 50 * minuteMs,
    lifetimeMinutes: 60,
  }),
  sandbox({
    id: 'sbx_h6k3vz5p2wq7mx4tnb3ycdrf',
    name: '<img src=x onerror=alert(1)>',
    ageMs: 14.4 * minuteMs,
    lifetimeMinutes: 15,
  }),
  sandbox({ id: 'sbx_b3ycdrfh6k3vz5p2wq7mx4tn', name: null, ageMs: 22 * minuteMs, lifetimeMinutes: 30 }),
  sandbox({
    id: 'sbx_z7pahcdwq2m7rk4t5x3vb6yn',
    name: 'load test with a name that somebody has made far longer than anybody would expect it to be',
    ageMs: 2.3 * hourMs,
    lifetimeMinutes: 240,
    size: 'large',
    status: 'failed',
    reason: 'machine_died: killed by SIGKILL',
    endedAgoMs: 40 * minuteMs,
  }),
  sandbox({
    id: 'sbx_x3vb6ynz7pahcdwq2m7rk4t5',
    name: 'agent 7',
    ageMs: 3.1 * hourMs,
    lifetimeMinutes: 60,
    status: 'failed',
    reason: 'provisioning_failed: the guest did not answer within 60 s',
    endedAgoMs: 3.08 * hourMs,
  }),
];

export const endedSandboxes: readonly Sandbox[] = [
  sandbox({
    id: 'sbx_tnb3ycdrfh6k3vz5p2wq7mx4',
    name: 'pull request 1840',
    ageMs: 5 * hourMs,
    lifetimeMinutes: 15,
    status: 'deleted',
    reason: 'expired',
    endedAgoMs: 4.75 * hourMs,
  }),
  sandbox({
    id: 'sbx_cdrfh6k3vz5p2wq7mx4tnb3y',
    name: 'scratch',
    size: 'medium',
    ageMs: 27 * hourMs,
    lifetimeMinutes: 60,
    status: 'deleted',
    reason: 'deleted',
    endedAgoMs: 26.8 * hourMs,
  }),
];

/** A fleet: so many sandboxes, newest first. */
export function manySandboxes(count: number): readonly Sandbox[] {
  return Array.from({ length: count }, (_, index) =>
    sandbox({
      id: `sbx_${index.toString(36).padStart(4, '0')}k3vz5p2wq7mx4tnb3ycdrf`,
      name: `agent ${count - index}`,
      size: sizeNames[index % 3] ?? 'small',
      ageMs: (index + 1) * 40_000,
      lifetimeMinutes: 15 + Math.ceil((index * 2) / 3) + (index % 7) * 5,
      ...(index % 23 === 5 && {
        status: 'failed' as const,
        reason: 'machine_died: killed by SIGKILL',
        endedAgoMs: 9_000,
      }),
    }),
  );
}

export const snapshots: readonly Snapshot[] = [
  {
    object: 'snapshot',
    id: 'snap_m4t7xk2q5w3vb6ynz7pahcdr',
    name: 'before the migration',
    alias: null,
    sandbox_id: 'sbx_q2m7rk4t5x3vb6ynz7pahcdw',
    size: 'large',
    status: 'creating',
    bytes: 0,
    created_at: ago(20_000),
  },
  {
    object: 'snapshot',
    id: 'snap_b3ycdrfh6k3vz5p2wq7mx4tn',
    name: 'after npm install',
    alias: 'web-app',
    sandbox_id: 'sbx_m4t7xk2q5w3vb6ynz7pahcdr',
    size: 'medium',
    status: 'ready',
    bytes: 1_429_147_136,
    created_at: ago(42 * minuteMs),
  },
  {
    object: 'snapshot',
    id: 'snap_h6k3vz5p2wq7mx4tnb3ycdrf',
    name: '<b>a name</b> that somebody has made far longer than anybody would expect it to be',
    alias: 'an-alias-that-is-just-as-long-as-the-name-of-its-snapshot-is-and-then-longer',
    sandbox_id: 'sbx_h6k3vz5p2wq7mx4tnb3ycdrf',
    size: 'small',
    status: 'ready',
    bytes: 29_147_136,
    created_at: ago(26 * hourMs),
  },
  {
    object: 'snapshot',
    id: 'snap_z7pahcdwq2m7rk4t5x3vb6yn',
    name: null,
    alias: null,
    sandbox_id: 'sbx_z7pahcdwq2m7rk4t5x3vb6yn',
    size: 'large',
    status: 'failed',
    bytes: 0,
    created_at: ago(50 * hourMs),
  },
];

function key(id: string, name: string | null, ageMs: number, usedAgoMs: number | null, revokedAgoMs?: number): ApiKey {
  return {
    object: 'api_key',
    id,
    name,
    prefix: `mf_${id.slice(-4)}`,
    created_at: ago(ageMs),
    last_used_at: usedAgoMs === null ? null : ago(usedAgoMs),
    revoked_at: revokedAgoMs === undefined ? null : ago(revokedAgoMs),
  };
}

export const keys: readonly ApiKey[] = [
  key('key_8f3k', 'CI of the web shop', 4 * minuteMs, null),
  key('key_2mzq', 'Laptop of Ada', 26 * hourMs, 3_000),
  key('key_x7tp', 'agents in production, region north', 9 * 24 * hourMs, 2 * minuteMs),
  key('key_h5wd', 'bootstrap', 41 * 24 * hourMs, 12 * 24 * hourMs),
  key('key_c9rn', 'old CI', 200 * 24 * hourMs, 41 * 24 * hourMs, 40 * 24 * hourMs),
];

export const sessions: readonly SessionSummary[] = [
  {
    object: 'session_summary',
    id: 'ses_1',
    current: true,
    created_at: session.created_at,
    last_used_at: ago(1_000),
    source_address: '203.0.113.20',
    user_agent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0',
  },
  {
    object: 'session_summary',
    id: 'ses_2',
    current: false,
    created_at: ago(50 * hourMs),
    last_used_at: ago(19 * hourMs),
    source_address: '2001:db8:40:7::1c',
    user_agent:
      'Mozilla/5.0 (iPhone; CPU iPhone OS 18_5 like Mac OS X) AppleWebKit/605.1 Version/18.5 Mobile Safari/604.1',
  },
  {
    object: 'session_summary',
    id: 'ses_3',
    current: false,
    created_at: ago(120 * hourMs),
    last_used_at: ago(70 * hourMs),
    source_address: '198.51.100.4',
    user_agent: '<script>alert(1)</script>',
  },
];

export const recoveryCodes: readonly string[] = [
  'k3vz5-p2wq7',
  'mx4tn-b3ycd',
  'rfh6k-3vz5p',
  '2wq7m-x4tnb',
  '3ycdr-fh6k3',
  'vz5p2-wq7mx',
  '4tnb3-ycdrf',
  'h6k3v-z5p2w',
  'q7mx4-tnb3y',
  'cdrfh-6k3vz',
];
