import { describe, expect, it } from 'vitest';
import { call, type ExecutionBody, exec, output } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { useSharedSandbox } from './shared-sandbox.ts';

const shared = useSharedSandbox();

function run(command: string, options: Record<string, unknown> = {}): Promise<ExecutionBody> {
  return exec(shared.service, shared.sandbox.id, command, options);
}

const mib = 1024 ** 2;
const holders = length(16, 64);

/** Runs commands of which none ends before all have done their work: they wait at a gate until the last one has arrived. */
async function runAtOnce(count: number, workOf: (n: number) => string): Promise<readonly ExecutionBody[]> {
  const patiently = { timeout_ms: 600_000 };
  expect(await run('rm -rf arrived gate && mkdir arrived && mkfifo gate')).toMatchObject({ exit_code: 0 });
  // The shell arrives and waits by itself, because an emulated guest takes long to start a program.
  const commands = Array.from({ length: count }, (_, n) => run(`${workOf(n)}; : > arrived/$$; : < gate`, patiently));
  const open = `until set -- arrived/*; [ $# = ${count} ]; do sleep 1; done; exec 3<>gate; sleep 600 &`;
  expect(await run(open, patiently)).toMatchObject({ exit_code: 0 });
  return await Promise.all(commands);
}

describe('a command', () => {
  it('returns stdout, stderr and the exit code', async () => {
    expect(await run('echo out; echo err >&2; exit 7')).toMatchObject({
      status: 'completed',
      exit_code: 7,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
    });
  });

  it('has cwd, env and an empty stdin', async () => {
    const result = await run('pwd; echo "$GREETING"; cat | wc -c', { cwd: '/tmp', env: { GREETING: 'it\'s "fine"' } });
    expect(result.stdout).toBe('/tmp\nit\'s "fine"\n0\n');
  });

  it('does not run in a folder that does not exist', async () => {
    const response = await call(shared.service, 'POST', `/sandboxes/${shared.sandbox.id}/exec`, {
      command: 'true',
      cwd: '/nowhere',
    });
    expect(response.status).toBe(400);
    expect(await response.json()).toMatchObject({ error: { type: 'invalid_request' } });
  });

  it('is killed with all of its processes at its timeout', async () => {
    const started = Date.now();
    const result = await run('echo before; (setsid sleep 987 &) ; sleep 986; echo after', { timeout_ms: 2000 });
    expect(result).toMatchObject({ status: 'timeout', exit_code: 124, stdout: 'before\n' });
    expect(Date.now() - started).toBeLessThan(300_000);
    expect((await run('pgrep -f "sleep 98[67]" | wc -l')).stdout.trim()).toBe('0');
  });

  it('can start a server that later commands reach', async () => {
    const result = await run('mkdir -p www && echo served > www/index.html && cd www && python3 -m http.server 8123 &');
    expect(result.exit_code).toBe(0);
    const page = 'curl -fs --retry 100 --retry-delay 1 --retry-connrefused http://127.0.0.1:8123/';
    expect(await output(shared.service, shared.sandbox.id, page)).toBe('served');
  });

  it('does not wait for a background process that keeps stdout open, and does not kill it', async () => {
    // It writes again when the next command lets it, so after the end of the first.
    const background = '(echo tick; : < /tmp/go; echo tick; echo alive > /tmp/held)';
    const result = await run(`mkfifo /tmp/go /tmp/held; ${background} & echo done`);
    expect(result.exit_code).toBe(0);
    expect(result.stdout).toContain('done');
    expect(await output(shared.service, shared.sandbox.id, ': > /tmp/go; cat /tmp/held')).toBe('alive');
  });

  it('may be 100,000 two-byte characters long', async () => {
    const text = 'é'.repeat(100_000 - "printf %s '' | wc -m".length);
    const result = await run(`printf %s '${text}' | wc -m`);
    expect(result.stdout.trim()).toBe(String(text.length));
  });

  it('may run concurrently with 49 others', async () => {
    const results = await runAtOnce(50, (n) => `echo ${n}`);
    expect(results.map(({ stdout }) => stdout.trim())).toEqual(Array.from({ length: 50 }, (_, n) => String(n)));
  });

  it('may write 20 MB, of which the first MiB per stream is kept', async () => {
    const result = await run('yes | head -c 20000000; echo end >&2', { timeout_ms: 600_000 });
    expect(result).toMatchObject({ exit_code: 0, truncated: true, stderr: 'end\n' });
    expect(result.stdout).toHaveLength(mib);
  });

  it('keeps its whole MiB per stream while others hold theirs', async () => {
    expect(await run(`head -c ${mib} /dev/zero | tr '\\0' x > mib`)).toMatchObject({ exit_code: 0 });
    // The agent holds two MiB for each at once.
    const results = await runAtOnce(holders, () => 'cat mib; cat mib >&2');
    const lengths = results.map(({ stdout, stderr, truncated }) => [stdout.length, stderr.length, truncated]);
    console.log(`${results.length} commands, truncated: ${results.filter(({ truncated }) => truncated).length}`);
    expect(lengths).toEqual(Array.from({ length: holders }, () => [mib, mib, false]));
  });

  it('killed by a signal exits with 128 + signal', async () => {
    expect(await run('kill -9 $$')).toMatchObject({ status: 'completed', exit_code: 137 });
    expect(await run('kill -TERM $$')).toMatchObject({ status: 'completed', exit_code: 143 });
    expect(await run("trap 'echo caught; exit 3' USR1; kill -USR1 $$")).toMatchObject({
      exit_code: 3,
      stdout: 'caught\n',
    });
  });

  it('may write bytes that are not UTF-8', async () => {
    expect((await run("printf 'a\\377b'")).stdout).toBe('a\uFFFDb');
  });
});
