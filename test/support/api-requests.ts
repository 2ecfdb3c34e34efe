import { checkResponse } from '@mayfly/contract/testing';
import { expect } from 'vitest';

/** Where a running service is, and the API key to use. */
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
  readonly ended_at: string | null;
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

/** Sends a request with a JSON body. Fails the test if the response does not match the published API. */
export async function call(target: Target, method: string, path: string, body?: unknown): Promise<Response> {
  const response = await fetch(`${target.url}/v1${path}`, {
    method,
    headers: { authorization: `Bearer ${target.key}`, 'content-type': 'application/json' },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  const { status, headers } = response;
  const text = await response.clone().text();
  expect(checkResponse({ method, path: `/v1${path}`, status, headers, body: text })).toEqual([]);
  return response;
}

async function expectStatus(response: Response, status: number): Promise<void> {
  if (response.status !== status) expect.fail(`expected ${status}, got ${response.status}: ${await response.text()}`);
}

/** Creates a sandbox and expects 201. */
export async function createSandbox(target: Target, body: Record<string, unknown> = {}): Promise<SandboxBody> {
  const response = await call(target, 'POST', '/sandboxes', body);
  await expectStatus(response, 201);
  return (await response.json()) as SandboxBody;
}

/** Deletes a sandbox and expects 200: the machine is gone. */
export async function deleteSandbox(target: Target, id: string): Promise<void> {
  await expectStatus(await call(target, 'DELETE', `/sandboxes/${id}`), 200);
}

/** Runs a command and expects 200, whatever its exit code. */
export async function exec(
  target: Target,
  id: string,
  command: string,
  options: Record<string, unknown> = {},
): Promise<ExecutionBody> {
  const response = await call(target, 'POST', `/sandboxes/${id}/exec`, { command, ...options });
  await expectStatus(response, 200);
  return (await response.json()) as ExecutionBody;
}

/** Runs a command, expects exit code 0 and returns its trimmed standard output. */
export async function output(target: Target, id: string, command: string, timeoutMs = 500_000): Promise<string> {
  const { exit_code, stdout, stderr } = await exec(target, id, command, { timeout_ms: timeoutMs });
  expect(exit_code, `${command}\n${stdout}\n${stderr}`).toBe(0);
  return stdout.trim();
}
