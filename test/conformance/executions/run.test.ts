import type { Execution } from '@mayfly/contract';
import { describe, expect, it } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });

function run(command: string, more: Record<string, unknown> = {}): Promise<Execution> {
  return target.api.exec(target.sandbox.id, command, more);
}

async function expectInvalid(body: unknown): Promise<string> {
  return expectError(await target.api.post(`/sandboxes/${target.sandbox.id}/exec`, body), 400, 'invalid_request');
}

describe('POST /sandboxes/{id}/exec', () => {
  it('200: Execution with output and exit code, finished when the call returns', async () => {
    const execution = await run('echo out; echo err >&2');
    expect(execution).toMatchObject({
      sandbox_id: target.sandbox.id,
      status: 'completed',
      exit_code: 0,
      stdout: 'out\n',
      stderr: 'err\n',
      truncated: false,
    });
    const [started, finished] = [execution.started_at, execution.finished_at].map((time) => Date.parse(time ?? ''));
    expect(finished).toBeGreaterThanOrEqual(started ?? Number.NaN);
    expect(execution.duration_ms).toBeGreaterThanOrEqual(0);
  });

  it.each([1, 7, 126, 255])('a non-zero exit code (%i) is still a 200', async (code) => {
    expect(await run(`exit ${code}`)).toMatchObject({ status: 'completed', exit_code: code });
  });

  it('a command killed by a signal exits with 128 + signal', async () => {
    expect(await run('kill -9 $$')).toMatchObject({ status: 'completed', exit_code: 137 });
  });

  it('runs a shell command: pipes, quotes, substitutions, several lines', async () => {
    expect((await run('printf "%s\\n" "a b" c | wc -l\necho "$(echo \'x"y\')"')).stdout).toBe('2\nx"y\n');
  });

  it('runs as an unprivileged user', async () => {
    expect(Number(await target.api.output(target.sandbox.id, 'id -u'))).toBeGreaterThan(0);
    expect((await run('cat /etc/shadow')).exit_code).not.toBe(0);
    expect((await run('sudo -n true')).exit_code).not.toBe(0);
  });

  it('runs in /workspace, which is writable, unless cwd is set', async () => {
    expect((await run('pwd; touch here && ls here')).stdout).toBe('/workspace\nhere\n');
    expect((await run('pwd', { cwd: '/tmp' })).stdout).toBe('/tmp\n');
    expect((await run('pwd', { cwd: null })).stdout).toBe('/workspace\n');
  });

  it('sets the variables of env for this command only', async () => {
    const env = { GREETING: 'it\'s "fine" $HOME\nand more', _x9: '' };
    expect((await run('printf %s "$GREETING"; echo "[$_x9]"; declare -p _x9', { env })).stdout).toBe(
      `${env.GREETING}[]\ndeclare -x _x9=""\n`,
    );
    expect((await run('declare -p GREETING')).exit_code).not.toBe(0);
  });

  it('any valid variable name works, also __proto__', async () => {
    const env = JSON.parse('{"__proto__":"one","constructor":"two"}') as object;
    expect((await run('echo "$__proto__ $constructor"', { env })).stdout).toBe('one two\n');
  });

  it('has an empty standard input', async () => {
    expect((await run('wc -c; read -r line || echo end')).stdout).toBe('0\nend\n');
  });

  it('waits for the command, not for its background processes', async () => {
    const execution = await run('(sleep 1200; echo late) & echo started');
    expect(execution).toMatchObject({ status: 'completed', exit_code: 0, stdout: 'started\n' });
    expect(execution.duration_ms).toBeLessThan(600_000);
    expect((await run('pgrep -f "sleep 1200" | wc -l')).stdout.trim()).not.toBe('0');
  });

  it('a command has up to 100000 characters, of any width', async () => {
    for (const [character, bytes] of [
      ['x', 1],
      ['🦋', 4],
    ] as const) {
      const frame = 'printf %s "" | wc -c';
      const text = character.repeat(100_000 - frame.length);
      const execution = await run(`printf %s "${text}" | wc -c`);
      expect(execution.stdout.trim()).toBe(String((100_000 - frame.length) * bytes));
    }
  });

  it('400 invalid_request: empty, oversized or missing command', async () => {
    for (const command of ['', 'x'.repeat(100_001), '🦋'.repeat(100_001), undefined, null, 5, ['ls'], 'a\0b']) {
      expect(await expectInvalid({ command })).toContain('command');
    }
    expect(await expectInvalid(undefined)).toContain('command');
  });

  it('timeout_ms accepts 1000 to 600000; anything else is 400 invalid_request', async () => {
    for (const timeout_ms of [1000, 600_000, null]) expect((await run('true', { timeout_ms })).exit_code).toBe(0);
    for (const timeout_ms of [999, 600_001, 0, -1, 1500.5, '5000', 1e20]) {
      expect(await expectInvalid({ command: 'true', timeout_ms })).toContain('timeout_ms');
    }
  });

  it('400 invalid_request: non-string env value or invalid variable name', async () => {
    const wrong = [
      { A: 1 },
      { A: null },
      { A: ['x'] },
      { '': 'x' },
      { '1A': 'x' },
      { 'A B': 'x' },
      { 'A=B': 'x' },
      { É: 'x' },
    ];
    for (const env of [...wrong, { A: 'a\0b' }, 'A=1', ['A=1'], 7]) {
      expect(await expectInvalid({ command: 'touch /tmp/ran', env })).toContain('env');
    }
    expect((await run('ls /tmp/ran')).exit_code).not.toBe(0);
  });

  it('a cwd that is not an accessible directory: 400, and nothing runs', async () => {
    for (const cwd of ['/nowhere', '/etc/passwd', '/root', 7, 'a\0b']) {
      expect(await expectInvalid({ command: 'touch /tmp/ran', cwd })).toMatch(/cwd|directory/);
    }
    expect((await run('ls /tmp/ran')).exit_code).not.toBe(0);
  });

  it('an environment too large for a process: 400, and nothing runs', async () => {
    await expectInvalid({ command: 'touch /tmp/ran', env: { BIG: 'x'.repeat(200_000) } });
    expect((await run('ls /tmp/ran')).exit_code).not.toBe(0);
  });

  it('the message lists every failing rule, joined by ";"', async () => {
    const rules = (await expectInvalid({ command: '', timeout_ms: 1, env: { '1A': 5 }, cwd: 5 })).split(';');
    for (const name of ['command', 'timeout_ms', 'env', 'cwd'])
      expect(rules.some((rule) => rule.includes(name))).toBe(true);
  });

  it('what the caller sent cannot forge the ";" between rules', async () => {
    const name = 'A; command must be shorter';
    expect((await expectInvalid({ command: 'true', env: { [name]: 'x' } })).split(';')).toHaveLength(1);
    expect((await expectInvalid({ command: 'true', cwd: `/${name}` })).split(';')).toHaveLength(1);
  });

  it('404 for a sandbox that does not exist; validation comes first', async () => {
    const { api } = target;
    expectError(await api.post('/sandboxes/sbx_unknown/exec', { command: 'true' }), 404, 'not_found');
    expectError(await api.post('/sandboxes/sbx_unknown/exec', { command: '' }), 400, 'invalid_request');
  });
});

describe('GET /executions/{id}', () => {
  it('200: the same Execution that the call returned, every time', async () => {
    const { api } = target;
    const execution = await run('echo kept; exit 3');
    for (const _ of [1, 2]) expect(expectStatus(await api.get(`/executions/${execution.id}`), 200)).toEqual(execution);
  });

  it('404 not_found for an id that does not exist, or the id of a sandbox', async () => {
    for (const id of ['exec_unknown', target.sandbox.id, '%00', 'a'.repeat(3000)]) {
      expectError(await target.api.get(`/executions/${id}`), 404, 'not_found');
    }
  });

  it('404 not_found for an execution of another account', async (context) => {
    const { id } = await run('echo secret');
    const other = await target.account(context, 'second');
    expectError(await other.get(`/executions/${id}`), 404, 'not_found');
  });
});
