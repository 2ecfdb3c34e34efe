import { describe, expect, it } from 'vitest';
import { expectError, expectStatus } from '../../support/conformance/api.ts';
import type { ExecutionBody } from '../../support/conformance/bodies.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({ sandbox: true });

const run = (command: string, more: Record<string, unknown> = {}): Promise<ExecutionBody> =>
  subject.api.exec(subject.sandbox.id, command, more);
const refuse = async (body: unknown): Promise<string> =>
  expectError(await subject.api.post(`/sandboxes/${subject.sandbox.id}/exec`, body), 400, 'invalid_request');

describe('POST /sandboxes/{id}/exec', () => {
  it('200: Execution, with output and exit code, finished when the call returns', async () => {
    const execution = await run('echo out; echo err >&2');
    expect(execution).toMatchObject({
      sandbox_id: subject.sandbox.id,
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

  it('a command that dies of a signal exits with 128 + signal', async () => {
    expect(await run('kill -9 $$')).toMatchObject({ status: 'completed', exit_code: 137 });
  });

  it('runs a shell command: pipes, quotes, substitutions, several lines', async () => {
    expect((await run('printf "%s\\n" "a b" c | wc -l\necho "$(echo \'x"y\')"')).stdout).toBe('2\nx"y\n');
  });

  it('as an unprivileged user', async () => {
    expect(Number(await subject.api.output(subject.sandbox.id, 'id -u'))).toBeGreaterThan(0);
    expect((await run('cat /etc/shadow')).exit_code).not.toBe(0);
    expect((await run('sudo -n true')).exit_code).not.toBe(0);
  });

  it('in /workspace unless cwd says otherwise; it can write there', async () => {
    expect((await run('pwd; touch here && ls here')).stdout).toBe('/workspace\nhere\n');
    expect((await run('pwd', { cwd: '/tmp' })).stdout).toBe('/tmp\n');
    expect((await run('pwd', { cwd: null })).stdout).toBe('/workspace\n');
  });

  it('with the variables of env and no other of the caller', async () => {
    const env = { GREETING: 'it\'s "fine" $HOME\nand more', _x9: '' };
    expect((await run('printf %s "$GREETING"; echo "[$_x9]"; declare -p _x9', { env })).stdout).toBe(
      `${env.GREETING}[]\ndeclare -x _x9=""\n`,
    );
    expect((await run('declare -p GREETING')).exit_code).not.toBe(0);
  });

  it('with an empty standard input', async () => {
    expect((await run('wc -c; read -r line || echo end')).stdout).toBe('0\nend\n');
  });

  it('waits for it to finish, not for what it left in the background', async () => {
    const execution = await run('(sleep 120; echo late) & echo started');
    expect(execution).toMatchObject({ status: 'completed', exit_code: 0, stdout: 'started\n' });
    expect(execution.duration_ms).toBeLessThan(60_000);
    expect((await run('pgrep -f "sleep 120" | wc -l')).stdout.trim()).not.toBe('0');
  });

  it('a command may have 100000 characters, of whatever width', async () => {
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

  it('400 invalid_request: empty or oversized command, or none', async () => {
    for (const command of ['', 'x'.repeat(100_001), '🦋'.repeat(100_001), undefined, null, 5, ['ls'], 'a\0b']) {
      expect(await refuse({ command })).toContain('command');
    }
    expect(await refuse(undefined)).toContain('command');
  });

  it('timeout_ms from 1000 to 600000 is taken, anything else is 400 invalid_request', async () => {
    for (const timeout_ms of [1000, 600_000, null]) expect((await run('true', { timeout_ms })).exit_code).toBe(0);
    for (const timeout_ms of [999, 600_001, 0, -1, 1500.5, '5000', 1e20]) {
      expect(await refuse({ command: 'true', timeout_ms })).toContain('timeout_ms');
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
      expect(await refuse({ command: 'touch /tmp/ran', env })).toContain('env');
    }
    expect((await run('ls /tmp/ran')).exit_code).not.toBe(0);
  });

  it('a cwd that is no directory: 400, and nothing ran', async () => {
    for (const cwd of ['/nowhere', '/etc/passwd', '/root', 7, 'a\0b']) {
      expect(await refuse({ command: 'touch /tmp/ran', cwd })).toMatch(/cwd|directory/);
    }
    expect((await run('ls /tmp/ran')).exit_code).not.toBe(0);
  });

  it('an environment too large for a process: 400, and nothing ran', async () => {
    await refuse({ command: 'touch /tmp/ran', env: { BIG: 'x'.repeat(200_000) } });
    expect((await run('ls /tmp/ran')).exit_code).not.toBe(0);
  });

  it('the message lists every failing rule, joined by ";"', async () => {
    const rules = (await refuse({ command: '', timeout_ms: 1, env: { '1A': 5 }, cwd: 5 })).split(';');
    for (const name of ['command', 'timeout_ms', 'env', 'cwd'])
      expect(rules.some((rule) => rule.includes(name))).toBe(true);
  });

  it('404 for a sandbox that does not exist; a wrong body is said first', async () => {
    const { api } = subject;
    expectError(await api.post('/sandboxes/sbx_unknown/exec', { command: 'true' }), 404, 'not_found');
    expectError(await api.post('/sandboxes/sbx_unknown/exec', { command: '' }), 400, 'invalid_request');
  });
});

describe('GET /executions/{id}', () => {
  it('200: the Execution that the call answered, as often as asked', async () => {
    const { api } = subject;
    const execution = await run('echo kept; exit 3');
    for (const _ of [1, 2]) expect(expectStatus(await api.get(`/executions/${execution.id}`), 200)).toEqual(execution);
  });

  it('404 not_found for an id that does not exist, or that is a sandbox', async () => {
    for (const id of ['exec_unknown', subject.sandbox.id, '%00', 'a'.repeat(3000)]) {
      expectError(await subject.api.get(`/executions/${id}`), 404, 'not_found');
    }
  });

  it('404 not_found for an execution of another account', async (context) => {
    const { id } = await run('echo secret');
    const other = await subject.account(context, 'second');
    expectError(await other.get(`/executions/${id}`), 404, 'not_found');
  });
});
