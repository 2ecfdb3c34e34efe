import { release } from 'node:os';
import { describe, expect, it } from 'vitest';
import { isGiven } from '../../support/conformance/given.ts';
import { useSubject } from '../../support/conformance/subject.ts';

const subject = useSubject({ sandbox: true });

const inside = (command: string): Promise<string> => subject.api.output(subject.sandbox.id, command);

describe('inside a sandbox', () => {
  it('is a virtual machine with a kernel, a file system and a network stack of its own', async () => {
    const { api, sandbox } = subject;
    const other = await api.create();
    const facts =
      'cat /proc/sys/kernel/random/boot_id /etc/machine-id; hostname; awk \'$2=="/"{print $1,$3}\' /proc/mounts';
    const [mine, theirs] = [await api.output(sandbox.id, facts), await api.output(other.id, facts)];
    for (const [at, fact] of mine.split('\n').slice(1, 3).entries()) expect(theirs.split('\n')[at + 1]).not.toBe(fact);
    if (!isGiven) expect(await inside('uname -r')).not.toBe(release());
    await inside('echo mine > /workspace/mine; echo mine > /tmp/mine');
    expect(await api.output(other.id, 'ls /workspace/mine /tmp/mine 2>/dev/null | wc -l')).toBe('0');
    await inside(
      '(python3 -m http.server 7777 >/dev/null 2>&1 &) ; until curl -fs http://127.0.0.1:7777/ >/dev/null; do sleep 0.2; done',
    );
    expect((await api.exec(other.id, 'curl -fs -m 3 http://127.0.0.1:7777/')).exit_code).not.toBe(0);
    await api.delete(`/sandboxes/${other.id}`);
  });

  it('commands are run as an unprivileged user that cannot become another', async () => {
    expect(Number(await inside('id -u'))).toBeGreaterThan(0);
    expect(await inside('sudo -n id -u 2>/dev/null || su -c "id -u" </dev/null 2>/dev/null || echo refused')).toBe(
      'refused',
    );
    expect(await inside('grep CapEff /proc/self/status')).toMatch(/0000000000000000$/);
    expect(await inside('touch /etc/x /usr/x /root/x 2>/dev/null; ls /etc/x /usr/x 2>/dev/null | wc -l')).toBe('0');
  });

  it.each([
    ['processes', 'u', '512', '1024'],
    ['open files', 'n', '4096', '8192'],
    ['single file size (in 1024 bytes)', 'f', String(4 * 1024 ** 2), String(8 * 1024 ** 2)],
  ])('%s: soft and hard limit', async (_what, letter, soft, hard) => {
    expect(await inside(`ulimit -S${letter}; ulimit -H${letter}`)).toBe(`${soft}\n${hard}`);
  });

  it('a file of more than 4 GiB is refused by the soft limit', async () => {
    expect(
      (
        await subject.api.exec(
          subject.sandbox.id,
          'truncate -s 4G fits && truncate -s 4294967297 large; rm -f fits large',
        )
      ).stderr,
    ).not.toBe('');
    expect(await inside('truncate -s 4G fits && stat -c %s fits && rm fits')).toBe(String(4 * 1024 ** 3));
  });

  it('more than 4096 open files are refused by the soft limit', async () => {
    const count = 'import os\nn=0\ntry:\n  while True: os.open("/dev/null",0); n+=1\nexcept OSError: print(n)';
    const opened = Number(await inside(`python3 -c '${count}'`));
    expect(opened).toBeGreaterThan(4000);
    expect(opened).toBeLessThanOrEqual(4096);
  });

  it.each([25, 465, 587])('outbound SMTP on port %i is blocked', async (port) => {
    // An address that belongs to nobody: refused at once by the sandbox, or never answered by anyone.
    const command = `timeout 20 bash -c 'exec 3<>/dev/tcp/198.51.100.1/${port}' 2>&1; echo "exit $?"`;
    const { stdout, duration_ms } = await subject.api.exec(subject.sandbox.id, command);
    expect(stdout).not.toContain('exit 0');
    if (isGiven) return;
    expect(stdout).toMatch(/refused|unreachable|prohibited/i);
    expect(duration_ms).toBeLessThan(10_000);
  });

  it('outbound network access exists', async (context) => {
    if (!isGiven) context.skip('the network is proved in test/network/egress.test.ts, without the internet');
    expect(await inside('getent hosts example.com >/dev/null && echo found')).toBe('found');
  });

  it('no inbound port is open', async () => {
    const listening = await inside("ss -Hltun 2>/dev/null | awk '{print $5}' | grep -Ev '^(127\\.|\\[::1\\])' || true");
    expect(listening.split('\n').filter((line) => line !== '' && !line.endsWith(':7777'))).toEqual([]);
  });
});
