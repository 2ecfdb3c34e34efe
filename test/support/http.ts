import { checkAnswer } from '@mayfly/contract/testing';
import { expect } from 'vitest';

/** A running service as a client sees it. */
export interface Target {
  readonly url: string;
  readonly key: string;
}

export interface SandboxBody {
  readonly id: string;
  readonly status: string;
  readonly status_reason: string | null;
  readonly size: string;
  readonly resources: { readonly vcpu: number; readonly memory_gb: number; readonly disk_gb: number };
  readonly created_at: string;
  readonly ready_at: string | null;
  readonly expires_at: string | null;
  readonly deleted_at: string | null;
}

export interface ExecutionBody {
  readonly id: string;
  readonly sandbox_id: string;
  readonly status: string;
  readonly exit_code: number | null;
  readonly stdout: string;
  readonly stderr: string;
  readonly truncated: boolean;
  readonly duration_ms: number | null;
}

/** One request with the key; the body is sent as JSON. Fails if the answer is not as published. */
export const call = async (target: Target, method: string, path: string, body?: unknown): Promise<Response> => {
  const response = await fetch(`${target.url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const text = await response.clone().text();
  expect(checkAnswer({ method, path: `/v1${path}`, status, headers, body: text })).toEqual([]);
  return response;
};

const expectStatus = async (response: Response, status: number): Promise<void> => {
  if (response.status !== status) expect.fail(`${response.status} instead of ${status}: ${await response.text()}`);
};

/** Creates a sandbox that is running. */
export const createSandbox = async (target: Target, body: Record<string, unknown> = {}): Promise<SandboxBody> => {
  const response = await call(target, 'POST', '/sandboxes', body);
  await expectStatus(response, 201);
  return (await response.json()) as SandboxBody;
};

/** Deletes a sandbox and expects it gone at once. */
export const deleteSandbox = async (target: Target, id: string): Promise<void> => {
  await expectStatus(await call(target, 'DELETE', `/sandboxes/${id}`), 200);
};

/** Runs a command and expects an Execution, whatever its exit code. */
export const exec = async (
  target: Target,
  id: string,
  command: string,
  options: Record<string, unknown> = {},
): Promise<ExecutionBody> => {
  const response = await call(target, 'POST', `/sandboxes/${id}/exec`, { command, ...options });
  await expectStatus(response, 200);
  return (await response.json()) as ExecutionBody;
};

/** The trimmed output of a command that must succeed. */
export const output = async (target: Target, id: string, command: string, timeoutMs = 120_000): Promise<string> => {
  const { exit_code, stdout, stderr } = await exec(target, id, command, { timeout_ms: timeoutMs });
  expect(exit_code, `${command}\n${stdout}\n${stderr}`).toBe(0);
  return stdout.trim();
};
