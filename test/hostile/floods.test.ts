import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { connect as connectTcp, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { defaultBudgets } from '#server/core/budgets/budgets.ts';
import { untilShortTurns } from '#server-test/longest-turn.ts';
import {
  call,
  createSandbox,
  deleteSandbox,
  type ExecutionBody,
  exec,
  type SandboxBody,
  type Target,
} from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { preparedHost } from '../support/prepared-host.ts';
import { MeasuredService } from './measured-service.ts';
import { ensureHostileTemplate } from './template.ts';

const mib = 1024 ** 2;
/** What the event loop may be held for at a time, on the reference machine. */
const promisedMs = 50;
/** A single measurement may be distorted, for example by a garbage collection. A flood that is handled in one piece takes far longer. */
const tolerance = 4;
const rounds = 7;
/** How long a client may read nothing; the service's own value, or a shorter one. */
const stallMs = length(10_000, 60_000);
/** So low that a slow machine reaches it too. */
const gatewayLimits = { newConnectionsBurst: 128, newConnectionsPerSecond: 16 };
/** The largest body that the API accepts. */
const uploadBytes = 11_000_000;
const sizes = length(
  { responses: 120, names: 12_000, handshakes: 600 },
  { responses: 120, names: 50_000, handshakes: 3_000 },
);

let service: MeasuredService;
/** The account that attacks, and its sandbox. */
let attacker: Target;
let attacking: SandboxBody;
/** Another account, whose commands and creates must keep working. */
let innocent: Target;
let quiet: SandboxBody;
let initialBytes: number;
const table: Record<string, string | number>[] = [];

beforeAll(async () => {
  const templates = { ...preparedHost().templates, medium: await ensureHostileTemplate() };
  service = await MeasuredService.start(templates, { readingLimits: { stallMs }, gatewayLimits });
  [attacker, innocent] = [await service.newAccount(), service];
  [attacking, quiet] = await Promise.all([createSandbox(attacker), createSandbox(innocent)]);
  await medianMs();
  initialBytes = await service.memoryBytes();
});
afterAll(async () => {
  await service?.stop();
  console.log(`the event loop may be held for ${promisedMs} ms on the reference machine`);
  console.table(table);
});

/** The median time of `true` in the innocent sandbox, in milliseconds. */
async function medianMs(): Promise<number> {
  const times: number[] = [];
  for (let round = 0; round < rounds; round += 1) {
    const startedMs = performance.now();
    expect((await exec(innocent, quiet.id, 'true')).exit_code).toBe(0);
    times.push(performance.now() - startedMs);
  }
  return times.toSorted((a, b) => a - b)[(rounds - 1) / 2] ?? Number.NaN;
}

async function metric(pattern: RegExp): Promise<number> {
  const page = await (await fetch(`${service.url}/metrics`)).text();
  return Number(pattern.exec(page)?.[1]);
}

/** How often the event loop was delayed, and how often by more than 50 ms, from the service's own metric. */
async function delays() {
  return {
    all: await metric(/^mayfly_event_loop_delay_seconds_count (\d+)/m),
    short: await metric(/^mayfly_event_loop_delay_seconds_bucket\{le="0.05"\} (\d+)/m),
  };
}

/** How long the innocent account waits for a sandbox and its first command, in milliseconds. */
async function createMs(): Promise<number> {
  const startedMs = performance.now();
  const { id } = await createSandbox(innocent);
  expect((await exec(innocent, id, 'true')).exit_code).toBe(0);
  const elapsedMs = performance.now() - startedMs;
  await deleteSandbox(innocent, id);
  return elapsedMs;
}

/** Starts an attack and returns what ends it, which returns figures of it. */
type Attack = () => Promise<() => Promise<Record<string, string | number>>>;

/**
 * Runs commands and a create of the innocent account during an attack, and checks the time for which the event loop was held; if it was long, a few
 * more times. Returns the peak of the service's memory.
 */
async function attack(name: string, start: Attack): Promise<{ readonly peakMib: number }> {
  let peakMib = 0;
  const longest = await untilShortTurns(promisedMs * tolerance, async () => {
    const measured = await measure(name, start);
    peakMib = Math.max(peakMib, measured.peakMib);
    return measured.longestTurnMs;
  });
  expect(Math.min(...longest)).toBeLessThan(promisedMs * tolerance);
  return { peakMib };
}

/** Runs an attack once and adds a row to the table. */
async function measure(name: string, start: Attack) {
  const baselineMs = await medianMs();
  await service.peakBytes();
  await service.longestTurnMs();
  const before = await delays();
  const end = await start();
  const loadedMs = await medianMs();
  const createdMs = await createMs();
  const figures = await end();
  const after = await delays();
  const longestTurnMs = await service.longestTurnMs();
  const peakMib = Math.round(((await service.peakBytes()) - initialBytes) / mib);
  table.push({
    attack: name,
    ...figures,
    innocent_ms: Math.round(loadedMs),
    baseline_ms: Math.round(baselineMs),
    create_ms: Math.round(createdMs),
    longest_turn_ms: Math.round(longestTurnMs),
    delayed_over_50_ms: `${after.all - after.short - (before.all - before.short)} of ${after.all - before.all}`,
    peak_mib: peakMib,
  });
  expect(service.isAlive).toBe(true);
  return { peakMib, longestTurnMs };
}

let made: Promise<ExecutionBody> | undefined;
/** Makes a directory of long names in the attacking sandbox. They are links, because a guest lists those without looking at each. */
function makeNames(): Promise<ExecutionBody> {
  const script = [
    'import os; os.mkdir("/dev/shm/many"); os.chdir("/dev/shm/many")',
    `for i in range(${sizes.names}): os.symlink("x", "\\x01" * 240 + str(i))`,
  ].join('\n');
  made ??= exec(attacker, attacking.id, `python3 -c '${script}'`, { timeout_ms: 600_000 });
  return made;
}

/** Opens a connection to the API. */
async function connectApi(): Promise<Socket> {
  const { port } = new URL(service.url);
  const socket = connectTcp(Number(port), '127.0.0.1').pause();
  socket.on('error', () => {});
  await once(socket, 'connect');
  return socket;
}

/** Sends a request on a connection of its own and never reads the response. */
async function neverRead(path: string): Promise<Socket> {
  const socket = await connectApi();
  socket.write(`GET /v1${path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${attacker.key}\r\n\r\n`);
  return socket;
}

/** The body of an upload that is as large as allowed, except for its end. */
const almostAll = Buffer.alloc(uploadBytes - 1_000, ' ');

/** A request of the attacker whose body arrives at once, except for its end, which arrives byte by byte. */
class SlowUpload {
  readonly #socket: Socket;
  readonly #trickle: NodeJS.Timeout;
  /** The status of the response; undefined as long as there is none. */
  status: string | undefined;

  private constructor(socket: Socket) {
    this.#socket = socket;
    socket.once('data', (head: Buffer) => {
      this.status = /^HTTP\/1\.1 (\d+)/.exec(head.toString('latin1'))?.[1];
    });
    const head = `PUT /v1/sandboxes/${attacking.id}/files HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${attacker.key}`;
    socket.resume().write(`${head}\r\ncontent-length: ${uploadBytes}\r\n\r\n`);
    socket.write(almostAll);
    this.#trickle = setInterval(() => {
      if (socket.writableLength === 0) socket.write(' ');
    }, 1_000);
  }

  static async start(): Promise<SlowUpload> {
    return new SlowUpload(await connectApi());
  }

  get isOpen(): boolean {
    return this.status === undefined && !this.#socket.destroyed;
  }

  end(): void {
    clearInterval(this.#trickle);
    this.#socket.destroy();
  }
}

describe('a flood neither holds the event loop nor takes the service from another account:', () => {
  it('unread responses with 12 MiB of escaped output each', async () => {
    const command = 'head -c 1048576 /dev/zero; head -c 1048576 /dev/zero >&2';
    const { id } = (await (await call(attacker, 'POST', `/sandboxes/${attacking.id}/exec`, { command })).json()) as {
      id: string;
    };
    const { peakMib } = await attack('unread responses', async () => {
      const cutBefore = await metric(/^mayfly_slow_readers_cut_total (\d+)/m);
      const sockets = await Promise.all(Array.from({ length: sizes.responses }, () => neverRead(`/executions/${id}`)));
      await expect.poll(() => metric(/^mayfly_results_waiting (\d+)/m)).toBeGreaterThan(0);
      return async () => {
        const heldMib = (await metric(/^mayfly_result_bytes_held (\d+)/m)) / mib;
        const sandbox = await createSandbox(innocent);
        await deleteSandbox(innocent, sandbox.id);
        // Only a wait is left, during which the guest prepares the next attack. That one reports if it fails.
        makeNames().catch(() => {});
        // All of them are cut or answered with 429 in the end: about 60 fit at once, and each is cut when it stalls for too long.
        await expect.poll(() => metric(/^mayfly_slow_readers_cut_total (\d+)/m)).toBeGreaterThan(cutBefore);
        for (const socket of sockets) socket.destroy();
        await expect.poll(() => metric(/^mayfly_result_bytes_held (\d+)/m)).toBe(0);
        return { requests: sockets.length, held_mib: Math.round(heldMib) };
      };
    });
    // Without a ceiling, 120 such responses are 1.4 GiB.
    expect(peakMib).toBeLessThan(500);
  });

  it(`listings of a directory of ${sizes.names} long names`, async () => {
    const { exit_code, stderr } = await makeNames();
    expect([exit_code, stderr]).toEqual([0, '']);
    await attack('listings', async () => {
      const path = `/sandboxes/${attacking.id}/files?path=/dev/shm/many&list=true`;
      const headers = { authorization: `Bearer ${attacker.key}` };
      const listings = Array.from({ length: 4 }, async () => {
        const response = await fetch(`${service.url}/v1${path}`, { headers });
        const bytes = Buffer.from(await response.arrayBuffer());
        const isLong = bytes.length > 1_400 * sizes.names;
        return { status: response.status, isLong, ...(isLong ? {} : { text: bytes.toString('utf8', 0, 300) }) };
      });
      return async () => {
        const answers = await Promise.all(listings);
        for (const answer of answers) expect(answer).toEqual({ status: 200, isLong: true });
        return { requests: answers.length };
      };
    });
  });

  it('1,200 commands at once', async () => {
    await attack('commands', async () => {
      const sandbox = await createSandbox(attacker);
      const body = JSON.stringify({ command: 'head -c 100000 /dev/zero; sleep 300', timeout_ms: 600_000 });
      const headers = { authorization: `Bearer ${attacker.key}` };
      const statuses = Array.from({ length: 1_200 }, async () => {
        const response = await fetch(`${service.url}/v1/sandboxes/${sandbox.id}/exec`, {
          method: 'POST',
          headers,
          body,
        });
        await response.arrayBuffer();
        return response.status;
      });
      await expect.poll(() => metric(/^mayfly_commands_waiting (\d+)/m)).toBeGreaterThan(900);
      return async () => {
        const waiting = await metric(/^mayfly_commands_waiting (\d+)/m);
        await deleteSandbox(attacker, sandbox.id);
        const counts = Object.groupBy(await Promise.all(statuses), (status) => status);
        // Those that ran were interrupted by the delete; those that waited find no sandbox any more.
        expect(Object.keys(counts).every((status) => ['502', '404', '409'].includes(status))).toBe(true);
        return { requests: statuses.length, waiting };
      };
    });
  });

  it(`${sizes.handshakes} TLS handshakes with random names from one address`, async () => {
    let refused = 0;
    let greeted = 0;
    const greet = async (localAddress: string) => {
      const socket = connectTls({
        socket: connectTcp({ port: service.previewPort, host: '127.0.0.1', localAddress }).on('error', () => {}),
        servername: `${randomBytes(8).toString('hex')}.localhost`,
        rejectUnauthorized: false,
      });
      socket.on('error', () => {});
      const isGreeted = await Promise.race([
        once(socket, 'secureConnect').then(() => true),
        once(socket, 'close').then(() => false),
      ]).catch(() => false);
      socket.destroy();
      return isGreeted;
    };
    await attack('handshakes', async () => {
      let left = sizes.handshakes;
      const flood = Array.from({ length: 300 }, async () => {
        for (; left > 0; left -= 1) {
          if (await greet('127.0.0.1')) greeted += 1;
          else refused += 1;
        }
      });
      return async () => {
        expect(await greet('127.0.0.2'), 'a visitor with another address').toBe(true);
        await Promise.all(flood);
        return { requests: greeted + refused, refused };
      };
    });
    expect(refused).toBeGreaterThan(0);
  });

  it.each([
    ['tiny frames', 'endless-tiny-output'],
    // Frames that HTTP/2 handles without telling the service.
    ['origin frames', 'origin-flood'],
    ['late data', 'late-data-flood'],
  ])('%s from a guest', async (name, mode) => {
    await attack(name, async () => {
      const sandbox = await createSandbox(attacker, { size: 'medium' });
      let isOver = false;
      let requests = 0;
      const flood = async () => {
        while (!isOver) {
          const command = `mayfly-hostile ${mode}`;
          await call(attacker, 'POST', `/sandboxes/${sandbox.id}/exec`, { command, timeout_ms: 10_000 });
          requests += 1;
        }
      };
      const floods = Array.from({ length: 4 }, flood);
      await expect.poll(() => requests).toBeGreaterThan(0);
      return async () => {
        isOver = true;
        // Ends the requests that wait for an agent that does nothing but flood.
        await deleteSandbox(attacker, sandbox.id);
        await Promise.all(floods);
        return { requests };
      };
    });
  });

  it('120 slow uploads of one key', async () => {
    const beforeBytes = await service.memoryBytes();
    const { peakMib } = await attack('slow uploads', async () => {
      const uploads = await Promise.all(Array.from({ length: 120 }, () => SlowUpload.start()));
      const refused = () => uploads.filter(({ isOpen }) => !isOpen).length;
      await expect.poll(refused).toBeGreaterThanOrEqual(uploads.length - defaultBudgets.uploads.perAccount);
      await expect.poll(() => metric(/^mayfly_body_bytes_held (\d+)/m)).toBeGreaterThan(50 * mib);
      return async () => {
        const heldMib = (await metric(/^mayfly_body_bytes_held (\d+)/m)) / mib;
        // At full length, until the first of them is cut because it is too slow.
        if (length(false, true)) {
          const cut = () => uploads.filter(({ status }) => status === '408').length;
          await expect.poll(cut, { timeout: 180_000 }).toBeGreaterThan(0);
        }
        const statuses = new Set(uploads.map(({ status }) => status));
        expect([...statuses].filter((status) => !['429', '503', '408', undefined].includes(status))).toEqual([]);
        expect(statuses).toContain('429');
        for (const upload of uploads) upload.end();
        await expect.poll(() => metric(/^mayfly_body_bytes_held (\d+)/m)).toBe(0);
        return { requests: uploads.length, held_mib: Math.round(heldMib) };
      };
    });
    // Without a ceiling, 120 such bodies are 1.2 GiB.
    expect(peakMib - (beforeBytes - initialBytes) / mib).toBeLessThan(200);
  });
});
