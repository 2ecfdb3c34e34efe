import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { call, createSandbox, type ExecutionBody, exec, output, type SandboxBody } from '../support/http.ts';
import { startTestService, type TestService } from '../support/service.ts';

let service: TestService;
let sandbox: SandboxBody;
beforeAll(async () => {
  service = await startTestService();
  sandbox = await createSandbox(service);
});
afterAll(async () => {
  await service.stop();
});

const run = (command: string, options: Record<string, unknown> = {}): Promise<ExecutionBody> =>
  exec(service, sandbox.id, command, options);
const mib = 1024 ** 2;

describe('a command', () => {
  it('gives its output apart and its exit code', async () => {
    expect(await run('echo out; echo err >&2; exit 7')).toMatchObject({
      status: 'completed',
      exit_code: 7,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
    });
  });

  it('gets cwd and env, and nothing on stdin', async () => {
    const result = await run('pwd; echo "$GREETING"; cat | wc -c', { cwd: '/tmp', env: { GREETING: 'it\'s "fine"' } });
    expect(result.stdout).toBe('/tmp\nit\'s "fine"\n0\n');
  });

  it('is refused, and not run, in a folder that is not there', async () => {
    const response = await call(service, 'POST', `/sandboxes/${sandbox.id}/exec`, { command: 'true', cwd: '/nowhere' });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request' } });
  });

  it('is ended with everything it started when its time is over', async () => {
    const started = Date.now();
    const result = await run('echo before; (setsid sleep 987 &) ; sleep 986; echo after', { timeout_ms: 2000 });
    expect(result).toMatchObject({ status: 'timeout', exit_code: 124, stdout: 'before\n' });
    expect(Date.now() - started).toBeLessThan(30_000);
    expect((await run('pgrep -f "sleep 98[67]" | wc -l')).stdout.trim()).toBe('0');
  });

  it('can leave a server behind that later commands reach', async () => {
    const started = Date.now();
    const result = await run('mkdir -p www && echo served > www/index.html && cd www && python3 -m http.server 8123 &');
    expect(result.exit_code).toBe(0);
    expect(Date.now() - started).toBeLessThan(30_000);
    const page = 'for i in $(seq 100); do curl -fs http://127.0.0.1:8123/ && exit 0; sleep 0.2; done; exit 1';
    expect(await output(service, sandbox.id, page)).toBe('served');
  });

  it('does not wait for a child that holds its output, nor kills it by closing the pipe', async () => {
    const result = await run('(for i in $(seq 30); do echo tick; sleep 0.1; done; echo alive > /tmp/held) & echo done');
    expect(result.exit_code).toBe(0);
    expect(result.stdout).toContain('done');
    expect(
      await output(
        service,
        sandbox.id,
        'for i in $(seq 100); do [ -s /tmp/held ] && cat /tmp/held && exit; sleep 0.2; done; exit 1',
      ),
    ).toBe('alive');
  });

  it('may be 100,000 two-byte characters long', async () => {
    const text = 'é'.repeat(100_000 - "printf %s '' | wc -m".length);
    const result = await run(`printf %s '${text}' | wc -m`);
    expect(result.stdout.trim()).toBe(String(text.length));
  });

  it('may be one of 50 at once', async () => {
    const results = await Promise.all(Array.from({ length: 50 }, (_, n) => run(`sleep 0.2; echo ${n}`)));
    expect(results.map(({ stdout }) => stdout.trim())).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
  });

  it('may write 20 MB: the first MiB of each stream is kept', async () => {
    const result = await run('head -c 20000000 /dev/zero | tr "\\0" x; echo end >&2', { timeout_ms: 120_000 });
    expect(result).toMatchObject({ exit_code: 0, truncated: true, stderr: 'end\n' });
    expect(result.stdout).toHaveLength(mib);
  });

  it('that dies of a signal says which', async () => {
    expect(await run('kill -9 $$')).toMatchObject({ status: 'completed', exit_code: 137 });
    expect(await run('kill -TERM $$')).toMatchObject({ status: 'completed', exit_code: 143 });
    expect(await run("trap 'echo caught; exit 3' USR1; kill -USR1 $$")).toMatchObject({
      exit_code: 3,
      stdout: 'caught\n',
    });
  });

  it('may print bytes that are no text', async () => {
    expect((await run("printf 'a\\377b'")).stdout).toBe('a\uFFFDb');
  });
});
