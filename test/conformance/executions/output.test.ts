import type { Execution } from '@mayfly/contract';
import { describe, expect, it, vi } from 'vitest';
import { type Api, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });
const mib = 1_048_576;
/** "The cap is applied per arriving chunk, so the returned string may land slightly either side of 1 MiB." */
const slack = 65_536;

function run(command: string, more: Record<string, unknown> = {}): Promise<Execution> {
  return target.api.exec(target.sandbox.id, command, { timeout_ms: 600_000, ...more });
}

describe('captured output', () => {
  it('1 MiB per stream is complete and not truncated', async () => {
    const execution = await run(`head -c ${mib} /dev/zero | tr '\\0' o; head -c ${mib} /dev/zero | tr '\\0' e >&2`);
    expect([execution.truncated, execution.stdout.length, execution.stderr.length]).toEqual([false, mib, mib]);
    expect(execution.stdout === 'o'.repeat(mib) && execution.stderr === 'e'.repeat(mib)).toBe(true);
  });

  it.each(['stdout', 'stderr'] as const)(
    '%s past 1 MiB is cut off and truncated is true; the other stream is complete',
    async (name) => {
      const { api } = target;
      const other = name === 'stdout' ? 'stderr' : 'stdout';
      const [big, small] = name === 'stdout' ? ['', '>&2'] : ['>&2', ''];
      const execution = await run(`head -c ${mib + 1} /dev/zero | tr '\\0' x ${big}; echo complete ${small}`);
      expect(execution).toMatchObject({ status: 'completed', exit_code: 0, truncated: true, [other]: 'complete\n' });
      expect(Math.abs(execution[name].length - mib)).toBeLessThanOrEqual(slack);
      expect(/^x*$/.test(execution[name])).toBe(true);
      expect(expectStatus(await api.get(`/executions/${execution.id}`), 200)).toEqual(execution);
    },
  );

  it('a command that writes far more still runs to its end', async () => {
    const execution = await run('head -c 8000000 /dev/zero; echo end >&2; exit 4');
    expect(execution).toMatchObject({ exit_code: 4, truncated: true, stderr: 'end\n' });
    expect(Math.abs(execution.stdout.length - mib)).toBeLessThanOrEqual(slack);
  });

  it('invalid UTF-8 is replaced, and no character is split', async () => {
    expect((await run("printf 'a\\377\\000b\\303'")).stdout).toBe('a\uFFFD\0b\uFFFD');
    const { stdout, truncated } = await run("yes 'é🦋' | tr -d '\\n' | head -c 600000");
    expect([truncated, stdout.includes('\uFFFD')]).toEqual([false, false]);
    expect(stdout === 'é🦋'.repeat(100_000)).toBe(true);
  });

  it('no output is two empty strings', async () => {
    expect(await run('true')).toMatchObject({ stdout: '', stderr: '', truncated: false });
  });
});

describe('command timeout', () => {
  it('process killed, exit_code 124, output so far returned', async () => {
    const execution = await run('echo so far; echo err >&2; (setsid sleep 4321 &); sleep 4322; echo never', {
      timeout_ms: 2000,
    });
    expect(execution).toMatchObject({ status: 'timeout', exit_code: 124, stdout: 'so far\n', stderr: 'err\n' });
    expect(execution.duration_ms).toBeGreaterThanOrEqual(2000);
    expect(execution.duration_ms).toBeLessThan(90_000);
    expect((await run('pgrep -f "sleep 432[12]" | wc -l')).stdout.trim()).toBe('0');
  });

  it('a command that ignores signals is killed too', async () => {
    const execution = await run("trap '' TERM INT HUP; while :; do sleep 0.2; done", { timeout_ms: 1500 });
    expect(execution).toMatchObject({ status: 'timeout', exit_code: 124 });
  });

  it('a command that exits with 124 itself is not a timeout', async () => {
    expect(await run('exit 124')).toMatchObject({ status: 'completed', exit_code: 124 });
  });
});

describe('a running command', () => {
  const startAndDisconnect = async (api: Api, command: string): Promise<void> => {
    const caller = new AbortController();
    const abandoned = api.post(`/sandboxes/${target.sandbox.id}/exec`, { command }, { signal: caller.signal });
    await api.output(target.sandbox.id, 'until [ -s /tmp/started ]; do sleep 0.1; done', { timeout_ms: 600_000 });
    caller.abort();
    await expect(abandoned).rejects.toThrow();
  };

  it('continues when its caller disconnects', async () => {
    const { api, sandbox } = target;
    await startAndDisconnect(api, 'echo $$ > /tmp/started; sleep 3; echo done > /tmp/finished');
    await vi.waitFor(async () => expect(await api.output(sandbox.id, 'cat /tmp/finished')).toBe('done'), {
      timeout: 120_000,
      interval: 500,
    });
  });

  it('concurrent commands in one sandbox each have their own output', async () => {
    const numbers = Array.from({ length: 10 }, (_, at) => at);
    const outputs = await Promise.all(numbers.map((at) => run(`sleep 0.2; echo ${at}; echo ${at} >&2; exit ${at}`)));
    expect(outputs.map(({ stdout, stderr, exit_code }) => [stdout, stderr, exit_code])).toEqual(
      numbers.map((at) => [`${at}\n`, `${at}\n`, at]),
    );
  });
});
