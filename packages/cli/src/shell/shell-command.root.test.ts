import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { HostShell } from '../../test/host-shell.ts';
import { mayflyInProcess } from '../../test/mayfly.ts';
import { OnTerminal } from '../../test/on-terminal.ts';

let shell: HostShell;
let id: string;
beforeAll(async () => {
  shell = await HostShell.start();
  ({ id } = await shell.api.client().sandboxes.create({ name: 'web' }));
});
afterAll(() => shell[Symbol.asyncDispose]());
beforeEach(() => shell.api.service.connector.terminals.all.clear());

const guest = () => shell.api.service.connector.terminals.newest;
const start = async (...args: string[]) => {
  const terminal = new OnTerminal(args, shell.env);
  await expect.poll(() => shell.api.service.connector.terminals.all.size).toBe(1);
  guest().print('ready$ ');
  await expect.poll(() => terminal.printed).toContain('ready$ ');
  return terminal;
};

describe('mayfly shell', () => {
  it('shows what the guest prints and passes on every key, Ctrl-C included', async () => {
    const terminal = await start('shell', 'web');
    terminal.type('ls\r\x03\x04\x1b[A');
    await expect.poll(() => guest().typed.join('')).toBe('ls\r\x03\x04\x1b[A');
    guest().exit(7);
    expect(await terminal.ended).toEqual({ code: 7, isRestored: true });
    expect(await shell.sandboxes()).toEqual([id]);
  });

  it('has the size of the terminal, and follows it', async () => {
    const terminal = await start('shell', 'web');
    const client = await (await shell.api.client().sandboxes.get(id)).terminal({ session: guest().id });
    expect([client.cols, client.rows]).toEqual([100, 30]);
    terminal.resize(77, 11);
    await expect.poll(() => [client.cols, client.rows]).toEqual([77, 11]);
    client.detach();
    guest().exit(0);
    expect((await terminal.ended).code).toBe(0);
  });

  it('Ctrl-P Ctrl-Q leaves the shell running; --session joins it', async () => {
    const terminal = await start('shell', 'web');
    terminal.type('\x10\x11');
    expect(await terminal.ended).toEqual({ code: 0, isRestored: true });
    const [, session = ''] = /--session (\S+)/.exec(terminal.printed) ?? [];
    expect(guest().hasExited).toBe(false);
    const again = new OnTerminal(['shell', 'web', '--session', session], shell.env);
    await expect.poll(() => again.printed).toContain('ready$');
    guest().exit(3);
    expect(await again.ended).toEqual({ code: 3, isRestored: true });
  });

  it('joins the terminal again after the connection was lost', async () => {
    const sockets: { destroy(): unknown }[] = [];
    shell.api.service.app.server.on('upgrade', (_, socket) => sockets.push(socket));
    const terminal = await start('shell', 'web');
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => terminal.printed).toContain('Connecting again');
    // Keys are not kept while there is no connection.
    const typeAgain = () => {
      terminal.type('x');
      return guest().typed.join('');
    };
    await expect.poll(typeAgain).toContain('x');
    guest().exit(0);
    expect(await terminal.ended).toEqual({ code: 0, isRestored: true });
  });

  it('without a sandbox creates one and deletes it', async () => {
    const terminal = await start('shell', '--name', 'short');
    expect((await shell.sandboxes()).length).toBe(2);
    guest().exit(1);
    expect((await terminal.ended).code).toBe(1);
    expect(await shell.sandboxes()).toEqual([id]);
  });

  it('the end of the sandbox is a failure, and restores the terminal', async () => {
    const { id: other } = await shell.api.client().sandboxes.create();
    const terminal = await start('shell', other);
    await shell.api.client().sandboxes.delete(other);
    expect(await terminal.ended).toEqual({ code: 125, isRestored: true });
    expect(terminal.printed).toMatch(/error: Sandbox sbx_\w+ (has ended|was deleted)/);
  });

  it('needs a terminal', async () => {
    expect(await mayflyInProcess(['shell', 'web'], shell.env)).toMatchObject({
      code: 2,
      stderr: expect.stringMatching(/^error: This needs a terminal/),
    });
  });
});

it('mayfly exec -t runs a command in place of the shell, and shows nothing of how it was started', async () => {
  const terminal = new OnTerminal(
    ['exec', 'web', '-t', '--cwd', '/srv', '-e', "A=it's", '--', 'top', '-b c'],
    shell.env,
  );
  await expect.poll(() => shell.api.service.connector.terminals.all.size).toBe(1);
  await expect.poll(() => guest().typed.join('')).toMatch(/^ \. \/tmp\/mayfly-exec-\S+\r$/);
  const path = guest().typed.join('').slice(3, -1);
  const script = String(shell.api.service.connector.files.contents.get(path));
  // What fails after the marker is shown.
  expect(script).toMatch(/printf %s mayfly-begins-\S+\ncd -- \/srv \|\| exit 125\n/);
  expect(script).toContain("export A='it'\\''s'");
  expect(script).toContain(`exec bash -c 'exec -- "$@"' bash top '-b c'`);
  const [, marker = ''] = /printf %s (\S+)/.exec(script) ?? [];
  guest().print(`prompt$ . ${path}\r\n${marker.slice(0, 9)}`);
  guest().print(`${marker.slice(9)}shown`);
  await expect.poll(() => terminal.printed).toBe('shown');
  guest().exit(4);
  expect(await terminal.ended).toEqual({ code: 4, isRestored: true });
});
