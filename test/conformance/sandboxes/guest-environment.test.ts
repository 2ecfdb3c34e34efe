import { release } from 'node:os';
import { describe, expect, it } from 'vitest';
import { isExternal } from '../../support/conformance/external-service.ts';
import { useTarget } from '../../support/conformance/target.ts';

const target = useTarget({ sandbox: true });

function run(command: string): Promise<string> {
  return target.api.output(target.sandbox.id, command);
}

describe('inside a sandbox', () => {
  it('is a virtual machine with its own kernel, file system and network stack', async () => {
    const { api, sandbox } = target;
    const other = await api.create();
    const facts =
      'cat /proc/sys/kernel/random/boot_id /etc/machine-id; hostname; awk \'$2=="/"{print $1,$3}\' /proc/mounts';
    const [mine, theirs] = [await api.output(sandbox.id, facts), await api.output(other.id, facts)];
    for (const [at, fact] of mine.split('\n').slice(1, 3).entries()) expect(theirs.split('\n')[at + 1]).not.toBe(fact);
    if (!isExternal) expect(await run('uname -r')).not.toBe(release());
    await run('echo mine > /workspace/mine; echo mine > /tmp/mine');
    expect(await api.output(other.id, 'ls /workspace/mine /tmp/mine 2>/dev/null | wc -l')).toBe('0');
    await run(
      '(python3 -m http.server 7777 >/dev/null 2>&1 &) ; until curl -fs http://127.0.0.1:7777/ >/dev/null; do sleep 0.2; done',
    );
    expect((await api.exec(other.id, 'curl -fs -m 3 http://127.0.0.1:7777/')).exit_code).not.toBe(0);
    await api.delete(`/sandboxes/${other.id}`);
  });

  it('commands run as an unprivileged user that cannot become another user', async () => {
    expect(Number(await run('id -u'))).toBeGreaterThan(0);
    expect(await run('sudo -n id -u 2>/dev/null || su -c "id -u" </dev/null 2>/dev/null || echo refused')).toBe(
      'refused',
    );
    expect(await run('grep CapEff /proc/self/status')).toMatch(/0000000000000000$/);
    expect(await run('touch /etc/x /usr/x /root/x 2>/dev/null; ls /etc/x /usr/x 2>/dev/null | wc -l')).toBe('0');
  });

  it.each([
    ['processes', 'u', '512', '1024'],
    ['open files', 'n', '4096', '8192'],
    ['single file size (in 1024 bytes)', 'f', String(4 * 1024 ** 2), String(8 * 1024 ** 2)],
  ])('%s: soft and hard limit', async (_what, letter, soft, hard) => {
    expect(await run(`ulimit -S${letter}; ulimit -H${letter}`)).toBe(`${soft}\n${hard}`);
  });

  it('a file of more than 4 GiB is refused by the soft limit', async () => {
    expect(
      (
        await target.api.exec(
          target.sandbox.id,
          'truncate -s 4G fits && truncate -s 4294967297 large; rm -f fits large',
        )
      ).stderr,
    ).not.toBe('');
    expect(await run('truncate -s 4G fits && stat -c %s fits && rm fits')).toBe(String(4 * 1024 ** 3));
  });

  it('more than 4096 open files are refused by the soft limit', async () => {
    const count = 'import os\nn=0\ntry:\n  while True: os.open("/dev/null",0); n+=1\nexcept OSError: print(n)';
    const opened = Number(await run(`python3 -c '${count}'`));
    expect(opened).toBeGreaterThan(4000);
    expect(opened).toBeLessThanOrEqual(4096);
  });

  it.each([25, 465, 587])('outbound SMTP on port %i is blocked', async (port) => {
    // A documentation address (RFC 5737): the host rejects the connection, or it times out.
    const command = `timeout 120 bash -c 'exec 3<>/dev/tcp/198.51.100.1/${port}' 2>&1; echo "exit $?"`;
    const { stdout, duration_ms } = await target.api.exec(target.sandbox.id, command);
    expect(stdout).not.toContain('exit 0');
    if (isExternal) return;
    expect(stdout).toMatch(/refused|unreachable|prohibited/i);
    expect(duration_ms).toBeLessThan(60_000);
  });

  it('outbound network access exists', async (context) => {
    if (!isExternal) context.skip('covered by test/network/egress.test.ts, which needs no internet access');
    expect(await run('getent hosts example.com >/dev/null && echo found')).toBe('found');
  });

  it('no inbound port is open', async () => {
    const listening = await run("ss -Hltun 2>/dev/null | awk '{print $5}' | grep -Ev '^(127\\.|\\[::1\\])' || true");
    expect(listening.split('\n').filter((line) => line !== '' && !line.endsWith(':7777'))).toEqual([]);
  });
});
