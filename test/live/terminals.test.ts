import { createHash } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { createSandbox, output } from '../support/api-requests.ts';
import { Random } from '../support/chaos/random.ts';
import { chaosSeed } from '../support/chaos/run-chaos.ts';
import { length } from '../support/length.ts';
import { takePeakBytes } from '../support/process-memory.ts';
import { RestartableService } from '../support/restartable-service.ts';
import { ShownTerminal } from '../support/shown-terminal.ts';

const mib = 1024 ** 2;

let service: RestartableService;
let sandboxId: string;
beforeAll(async () => {
  service = await RestartableService.create({ MAYFLY_POOL: 'none' });
  sandboxId = (await createSandbox(service)).id;
});
afterAll(() => service?.remove());

const prompt = /\$ ?$/;
/** The last line is a prompt that waits. */
const isWaiting = (lines: readonly string[]) => prompt.test(lines.at(-1) ?? '');
const open = async (query = 'cols=100&rows=30') => {
  const terminal = await ShownTerminal.open(service, sandboxId, query);
  await terminal.until((lines) => lines.length > 0);
  return terminal;
};
const openShell = async (query?: string) => {
  const terminal = await open(query);
  await terminal.until(isWaiting);
  return terminal;
};
/** Runs a command in the shell, and waits for a line that it prints. A long command is shown over several lines: none of them may look like that. */
const run = async (terminal: ShownTerminal, command: string, line: RegExp) => {
  terminal.type(`${command}\r`);
  await terminal.untilLine(line);
  await terminal.until(isWaiting);
};
const expectHangUp = async ({ client }: ShownTerminal) => {
  client.send({ type: 'close' });
  expect((await client.untilClosed()).code).toBe(1000);
};
/** What the screen shows once it does not change any more. */
const settled = async (terminal: ShownTerminal): Promise<object> => {
  for (let before = ''; ; ) {
    const picture = await terminal.picture();
    const now = JSON.stringify(picture);
    if (now === before) return picture;
    before = now;
    await pause(1_000);
  }
};

it('a login shell as the user of the sandbox, with the size that was asked for', async () => {
  const terminal = await openShell();
  await run(terminal, 'clear; stty size; whoami; pwd; echo $TERM', /^xterm-256color$/);
  expect(await terminal.lines()).toEqual(expect.arrayContaining(['30 100', 'sandbox', '/workspace']));
  terminal.client.send({ type: 'resize', cols: 77, rows: 11 });
  await terminal.client.until(({ told }) => told.some(({ type }) => type === 'resize'));
  await run(terminal, 'stty size', /^11 77$/);
  terminal.type('exit 5\r');
  expect((await terminal.client.untilClosed()).code).toBe(1000);
  expect(terminal.client.told.at(-1)).toEqual({ type: 'exit', exit_code: 5 });
});

it('Ctrl-C ends a command', async () => {
  const terminal = await openShell();
  terminal.type('sleep 1000\r');
  await terminal.untilLine(/sleep 1000$/);
  await output(service, sandboxId, 'until pgrep -x sleep; do sleep 0.1; done');
  terminal.type('\x03');
  await terminal.until(isWaiting);
  await run(terminal, 'echo ended with $?', /^ended with 130$/);
  await expectHangUp(terminal);
});

it('top fills the screen, follows a resize, and gives it back', async () => {
  const terminal = await openShell();
  terminal.type('top -d 1\r');
  await terminal.untilLine(/PID USER/);
  await terminal.untilLine(/load average/);
  terminal.client.send({ type: 'resize', cols: 70, rows: 16 });
  await terminal.until((lines) => lines.length === 16 && lines.some((line) => /PID USER/.test(line)));
  terminal.type('q');
  await terminal.until(isWaiting);
  await expectHangUp(terminal);
});

it('vim is the same after its client went away, for a second client, and after a restart of the service', async () => {
  const terminal = await openShell('cols=90&rows=24');
  await run(terminal, 'echo visible before $((40+2))', /^visible before 42$/);
  terminal.type('vim -u NONE --cmd "set nocp showmode ruler" story.txt\r');
  await terminal.untilLine(/"story.txt" \[New\]/);
  terminal.type('iThe first line.\rThe second, with \u00e9 and \u65e5\u672c.\r\ttabbed');
  await terminal.untilLine(/-- INSERT --/);
  await terminal.untilLine(/tabbed/);
  const picture = await settled(terminal);
  expect(picture).toMatchObject({ type: 'alternate', cols: 90, rows: 24 });
  const { session } = terminal.client;

  const second = await open(`session=${session}`);
  expect(await settled(second)).toEqual(picture);
  await terminal.client.leave();
  await second.client.leave();

  const third = await open(`session=${session}`);
  expect(await settled(third)).toEqual(picture);
  await service.detach();
  await third.client.untilClosed();
  await service.start();

  const fourth = await open(`session=${session}`);
  expect(await settled(fourth)).toEqual(picture);
  fourth.type('\x1b:wq\r');
  await fourth.untilLine(/^visible before 42$/);
  await fourth.until(isWaiting);
  expect(await output(service, sandboxId, 'cat story.txt')).toBe(
    'The first line.\nThe second, with \u00e9 and \u65e5\u672c.\n\ttabbed',
  );
  await expectHangUp(fourth);
});

it('5 MB that are pasted arrive', async () => {
  const terminal = await openShell();
  const bytes = 5_000_000;
  const text = Array.from({ length: bytes / 50 }, (_, n) => `${n}`.padStart(49, '.')).join('\n');
  terminal.type('stty -echo; cat > pasted; stty echo; echo pasted $?\r');
  await output(service, sandboxId, 'until pgrep -x cat; do sleep 0.1; done');
  for (let at = 0; at < text.length; at += 65_536) terminal.type(text.slice(at, at + 65_536));
  terminal.type('\n\x04');
  await terminal.untilLine(/^pasted 0$/);
  const digest = createHash('sha256').update(`${text}\n`).digest('hex');
  expect(await output(service, sandboxId, 'sha256sum < pasted')).toBe(`${digest}  -`);
  await expectHangUp(terminal);
});

it('a client that does not read neither holds the shell nor fills the memory of the service', async () => {
  const dead = await openShell();
  const { session } = dead.client;
  dead.client.webSocket.pause();
  const mebibytes = length(8, 256);
  const reader = await open(`session=${session}`);
  await takePeakBytes(service.pid);
  const beforeMib = (await takePeakBytes(service.pid)) / mib;
  reader.type(`yes 'a line that nobody reads' | head -c ${mebibytes}M; echo; echo printed $((40+2))\r`);
  await reader.untilLine(/^printed 42$/);
  const peakMib = (await takePeakBytes(service.pid)) / mib;
  console.log(`${mebibytes} MiB printed: ${Math.round(beforeMib)} MiB before, at most ${Math.round(peakMib)} MiB`);
  expect(peakMib - beforeMib).toBeLessThan(200);
  dead.client.webSocket.resume();
  const isShown = (terminal: ShownTerminal) => terminal.untilLine(/^printed 42$/);
  // If it did not read for a minute, the service has disconnected it, and it comes back.
  await isShown(dead).catch(async () => isShown(await open(`session=${session}`)));
  await expectHangUp(reader);
});

/** Does what a person does whose connection was lost: connects again, and types again what was lost with it. */
async function comeBackAndRun(session: string, command: string, line: RegExp): Promise<void> {
  for (let isSeen = false; !isSeen; ) {
    try {
      const terminal = await open(`session=${session}`);
      terminal.type(`${command}\r`);
      await terminal.untilLine(line, 30_000);
      await terminal.client.leave();
      isSeen = true;
    } catch (error) {
      console.log(`tries again: ${String(error)}`);
      await pause(1_000);
    }
  }
}

it('kills of either process at random moments: every terminal can be come back to, and its shell went on', async () => {
  const random = new Random(chaosSeed());
  const rounds = length(3, 12);
  const terminals = await Promise.all(Array.from({ length: 3 }, () => openShell()));
  const sessions = terminals.map(({ client }) => client.session);
  for (const [n, terminal] of terminals.entries())
    await run(terminal, `mine=${n}; clear; echo set $mine`, new RegExp(`^set ${n}$`));
  for (let round = 0; round < rounds; round += 1) {
    await pause(random.between(100, 1_000));
    const side = (['service', 'host', 'both'] as const)[round % 3] ?? 'both';
    await service.killAndRecover(side);
    for (const [n, session] of sessions.entries()) {
      await comeBackAndRun(session, `echo round ${round} of $mine`, new RegExp(`^round ${round} of ${n}$`));
    }
  }
  const last = await open(`session=${sessions[0]}`);
  const seen = new Set((await last.lines()).filter((line) => /^round \d+ of 0$/.test(line)));
  expect(seen.size).toBe(rounds);
});
