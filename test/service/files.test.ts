import { createHash } from 'node:crypto';
import { type Directory, directorySchema, type ErrorBody, type File, fileSchema } from '@mayfly/contract';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { call, createSandbox, output, type SandboxBody } from '../support/api-requests.ts';
import { length } from '../support/length.ts';
import { useSharedSandbox } from './shared-sandbox.ts';

const mib = 1024 ** 2;
const limitBytes = 8 * mib;
const atOnce = length(4, 8);
const allBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));

/** Binary data that does not repeat. */
function noise(bytes: number): Buffer {
  const block = createHash('sha512').update('mayfly').digest();
  const data = Buffer.alloc(bytes, block);
  for (let at = 0; at + 4 <= bytes; at += block.length) data.writeUInt32LE(at, at);
  return data;
}

/** What `md5sum` prints for these bytes: an emulated guest computes it in a third of the time that SHA-256 takes. */
function md5(bytes: Buffer): string {
  return createHash('md5').update(bytes).digest('hex');
}

const shared = useSharedSandbox();

function run(command: string): Promise<string> {
  return output(shared.service, shared.sandbox.id, command);
}

function files(query: Record<string, string> = {}): string {
  const text = new URLSearchParams(query).toString();
  return `/sandboxes/${shared.sandbox.id}/files${text === '' ? '' : `?${text}`}`;
}

function put(path: string, content: string, encoding?: string): Promise<Response> {
  return call(shared.service, 'PUT', files(), { path, content, ...(encoding !== undefined && { encoding }) });
}

function putBytes(path: string, bytes: Buffer): Promise<Response> {
  return put(path, bytes.toString('base64'), 'base64');
}

function get(path: string, more: Record<string, string> = {}): Promise<Response> {
  return call(shared.service, 'GET', files({ path, ...more }));
}

function remove(path: string, more: Record<string, string> = {}): Promise<Response> {
  return call(shared.service, 'DELETE', files({ path, ...more }));
}

async function write(path: string, content: string): Promise<void> {
  const response = await put(path, content);
  expect([response.status, await response.json()]).toMatchObject([201, { bytes: Buffer.byteLength(content) }]);
}

async function read(path: string, more: Record<string, string> = {}): Promise<File> {
  const response = await get(path, more);
  const body = await response.json();
  expect([response.status, body]).toMatchObject([200, { object: 'file' }]);
  return fileSchema.strict().parse(body);
}

function bytesOf({ content, encoding }: File): Buffer {
  return Buffer.from(content, encoding);
}

async function list(path: string): Promise<Directory['entries']> {
  const response = await get(path, { list: 'true' });
  expect(response.status).toBe(200);
  return directorySchema.strict().parse(await response.json()).entries;
}

/** The status and type of an error response. */
async function errorOf(request: Promise<Response>): Promise<string> {
  const response = await request;
  const { error } = (await response.json()) as ErrorBody;
  return `${response.status} ${error?.type}`;
}

describe('file content', () => {
  it('keeps every byte, as base64 and as UTF-8 text', async () => {
    expect((await putBytes('all', allBytes)).status).toBe(201);
    expect(await run('md5sum < all')).toContain(md5(allBytes));
    const file = await read('all');
    expect([file.encoding, file.bytes, file.path]).toEqual(['base64', 256, '/workspace/all']);
    expect(bytesOf(file)).toEqual(allBytes);
    expect(await errorOf(get('all', { encoding: 'utf8' }))).toBe('400 read_failed');

    const text = `${String.fromCodePoint(...Array.from({ length: 0x800 }, (_, at) => at))}\ufeff€🦋\u2028\r\n`;
    await write('text', text);
    expect(await run('md5sum < text')).toContain(md5(Buffer.from(text)));
    expect(await read('text')).toMatchObject({ encoding: 'utf8', content: text });
    expect(bytesOf(await read('text', { encoding: 'base64' }))).toEqual(Buffer.from(text));
  });

  it('may be empty', async () => {
    await write('empty', '');
    expect(await read('empty')).toMatchObject({ encoding: 'utf8', content: '', bytes: 0 });
    expect(await run('stat -c %s empty')).toBe('0');
  });

  it('is never interpreted by a shell', async () => {
    const content = '$(touch /tmp/pwned) `id` "$HOME" \'; rm -rf / #\\';
    await write('shell', content);
    expect((await read('shell')).content).toBe(content);
    expect(await run('ls /tmp | grep -c pwned || true')).toBe('0');
  });

  it('with a lone surrogate is refused, and the file keeps its content', async () => {
    await write('half', 'kept');
    const response = call(shared.service, 'PUT', files(), { path: 'half', content: 'a\ud800b' });
    expect(await errorOf(response)).toBe('400 invalid_request');
    expect((await read('half')).content).toBe('kept');
  });
});

describe('files of 8 MiB', () => {
  it('can be written and read in either encoding; one byte more is refused', async () => {
    const binary = noise(limitBytes);
    const response = await putBytes('big', binary);
    expect([response.status, await response.json()]).toMatchObject([201, { bytes: limitBytes }]);
    expect(bytesOf(await read('big')).equals(binary)).toBe(true);

    const text = Buffer.alloc(limitBytes, 'äöü\n');
    expect((await put('bigtext', text.toString())).status).toBe(201);
    expect(bytesOf(await read('bigtext', { encoding: 'utf8' })).equals(text)).toBe(true);

    const sums = await run('md5sum < big; md5sum < bigtext; echo -n x >> big');
    expect(sums.split('\n')).toEqual([binary, text].map((bytes) => `${md5(bytes)}  -`));
    expect(await errorOf(get('big'))).toBe('413 file_too_large');
    expect(await errorOf(putBytes('bigtext', Buffer.concat([binary, Buffer.from('x')])))).toBe('413 file_too_large');
    expect(await errorOf(put('bigtext', `${text.toString()}x`))).toBe('413 file_too_large');
    const left = await run('md5sum < bigtext; ls -A | grep -c "^\\.mayfly" || true');
    expect(left.split('\n')).toEqual([`${md5(text)}  -`, '0']);
  });

  it(`can be written and read ${atOnce} at a time`, async () => {
    const contents = Array.from({ length: atOnce }, (_, at) => noise(limitBytes - at));
    const written = await Promise.all(contents.map((content, at) => putBytes(`many/${at}`, content)));
    expect(written.map(({ status }) => status)).toEqual(Array.from({ length: atOnce }, () => 201));
    const back = await Promise.all(contents.map((_, at) => read(`many/${at}`, { encoding: 'base64' })));
    expect(back.map((file, at) => bytesOf(file).equals(contents[at] ?? Buffer.alloc(0)))).not.toContain(false);
  });

  it('a request body over 10.7 MiB: 413 request_error', async () => {
    expect(await errorOf(put('huge', 'x'.repeat(12 * mib)))).toBe('413 request_error');
  });
});

describe('file names', () => {
  const unusualNames = [
    'with space',
    ' ',
    '"quoted" \'twice\'',
    'line\nbreak\t\r',
    '-rf',
    '--help',
    '*?[a]{b,c}',
    '$HOME;`id`&|<>\\',
    'ünïcödé 🦋 中文',
    'e\u0301 and é',
    '%2e%2e%2f+&=#?',
    '...',
    '\x01\x7f\u0085\u200b',
    'x'.repeat(255),
    '🦋'.repeat(63),
  ];

  it('with any characters can be written, listed, read and deleted', async () => {
    for (const name of unusualNames) await write(`odd/${name}`, name);
    const sorted = unusualNames.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(await list('odd')).toEqual(
      sorted.map((name) => ({ name, type: 'file', size_bytes: Buffer.byteLength(name) })),
    );
    expect(await run('ls -A odd | wc -l')).toBe(String(unusualNames.length + 1));
    for (const name of unusualNames) {
      expect(await read(`odd/${name}`)).toMatchObject({ path: `/workspace/odd/${name}`, content: name });
      expect((await remove(`odd/${name}`)).status).toBe(200);
    }
    expect(await list('odd')).toEqual([]);
  });

  it('have at most 255 bytes, and paths 4095', async () => {
    await write('long/name', '');
    for (const name of ['x'.repeat(256), '🦋'.repeat(64)]) {
      expect(await errorOf(put(`long/${name}`, ''))).toBe('400 write_failed');
      expect(await errorOf(get(`long/${name}`))).toBe('404 not_found');
      expect(await errorOf(get(`long/${name}`, { list: 'true' }))).toBe('404 not_found');
      expect(await errorOf(remove(`long/${name}`))).toBe('400 invalid_request');
    }
    const deep = (segments: number, last: number) =>
      `/workspace/${'d'.repeat(99)}/`.padEnd(11 + segments * 100, `${'d'.repeat(99)}/`) + 'f'.repeat(last);
    expect(Buffer.byteLength(deep(40, 84))).toBe(4_095);
    await write(deep(40, 84), 'deep');
    expect((await read(deep(40, 84))).content).toBe('deep');
    expect(await errorOf(put(deep(40, 85), ''))).toBe('400 write_failed');
    expect(await errorOf(put(deep(41, 1), ''))).toBe('400 invalid_request');
    expect(await errorOf(put('🦋/'.repeat(2_048), ''))).toBe('400 write_failed');
    expect((await remove(`/workspace/${'d'.repeat(99)}`, { recursive: 'true' })).status).toBe(200);
  });

  it('that are not UTF-8 are listed with U+FFFD', async () => {
    await run(`mkdir bad && touch "bad/$(printf 'a\\377b')"`);
    expect(await list('bad')).toEqual([{ name: 'a\ufffdb', type: 'file', size_bytes: 0 }]);
    expect((await remove('bad', { recursive: 'true' })).status).toBe(200);
  });
});

describe('paths', () => {
  it('are returned as absolute paths; a relative path must stay in /workspace', async () => {
    const response = await put('./sub//dir/../file.txt', 'x');
    expect(await response.json()).toEqual({
      object: 'file',
      sandbox_id: shared.sandbox.id,
      path: '/workspace/sub/file.txt',
      bytes: 1,
    });
    expect((await read('/workspace/../workspace/sub/./file.txt')).path).toBe('/workspace/sub/file.txt');
    for (const path of ['..', '../etc/passwd', 'sub/../../etc/passwd', '../workspace/sub/file.txt', '', 'a\0b']) {
      expect(await errorOf(put(path, ''))).toBe('400 invalid_request');
      expect(await errorOf(get(path))).toBe('400 invalid_request');
      expect(await errorOf(remove(path))).toBe('400 invalid_request');
    }
  });

  it('that do not exist: 404 not_found', async () => {
    for (const path of ['nothing', 'nothing/below', '/nowhere', 'all/below']) {
      expect(await errorOf(get(path))).toBe('404 not_found');
      expect(await errorOf(remove(path))).toBe('404 not_found');
    }
    expect(await errorOf(get('nothing', { list: 'true' }))).toBe('404 not_found');
  });

  it('get their missing parent directories, owned by the user', async () => {
    await write('made/on/the/way.txt', 'x');
    expect(await run("stat -c '%U:%G %a %F' made made/on/the made/on/the/way.txt")).toBe(
      'sandbox:sandbox 755 directory\nsandbox:sandbox 755 directory\nsandbox:sandbox 644 regular file',
    );
    expect(await errorOf(put('all/below', ''))).toBe('400 write_failed');
  });
});

describe('a write', () => {
  it('keeps the mode of an existing file; the user owns the file', async () => {
    await run('echo old > script && chmod 750 script');
    await write('script', '#!/bin/sh\necho ran');
    expect(await run("stat -c '%U:%G %a' script && ./script")).toBe('sandbox:sandbox 750\nran');
  });

  it('follows symbolic links, including dangling ones', async () => {
    await run('mkdir -p links target && ln -s ../target/file links/link && ln -s link links/second');
    await write('links/second', 'through\n');
    expect(await run('cat target/file && readlink links/second links/link')).toBe('through\nlink\n../target/file');
    expect((await read('links/second')).content).toBe('through\n');
    await run('ln -s target folder');
    await write('folder/other', 'x');
    expect(await run('cat target/other')).toBe('x');
  });

  it('fails where the user has no write permission', async () => {
    for (const path of ['/etc/passwd', '/etc/new', '/root/x', '/usr/bin/x', '/x', '/new/x', '/boot/x']) {
      expect(await errorOf(put(path, 'x'))).toBe('400 write_failed');
    }
    await run('echo old > locked && chmod 444 locked && mkdir shut && chmod 555 shut');
    expect(await errorOf(put('locked', 'new'))).toBe('400 write_failed');
    expect(await errorOf(put('shut/file', 'new'))).toBe('400 write_failed');
    expect(await run('cat locked && ls -A shut | wc -l')).toBe('old\n0');
    await run('ln -s /etc/passwd escape');
    expect(await errorOf(put('escape', 'x'))).toBe('400 write_failed');
  });

  it('does not replace anything but a regular file', async () => {
    await run(
      'mkfifo pipe; mkdir -p somewhere; ln -s loop loop; python3 -c "import socket; socket.socket(1).bind(\'sock\')"',
    );
    const others = ['pipe', 'sock', 'somewhere', 'somewhere/', 'loop', '/dev/null', '/', '/workspace', '.', 'new/'];
    for (const path of others) expect(await errorOf(put(path, 'x'))).toBe('400 write_failed');
    for (const path of ['/proc/x', '/proc/self/comm/x', '/sys/x', '/sys/kernel/x', '/dev/x']) {
      expect(await errorOf(put(path, 'x'))).toBe('400 write_failed');
    }
    expect(await run("stat -c '%F' pipe sock somewhere; ls -A | grep -c '^\\.mayfly' || true")).toBe(
      'fifo\nsocket\ndirectory\n0',
    );
  });

  it('with invalid base64 or an unknown encoding: 400 invalid_request', async () => {
    for (const content of ['QQ', 'Q===', 'QQ==\n', 'Q Q=', '-_-_', 'é===']) {
      expect(await errorOf(put('bad64', content, 'base64'))).toBe('400 invalid_request');
    }
    expect(await errorOf(put('bad64', 'QQ==', 'latin1'))).toBe('400 invalid_request');
    expect(await errorOf(get('bad64'))).toBe('404 not_found');
  });
});

describe('a read', () => {
  it('has the permissions of the user', async () => {
    expect((await read('/etc/passwd')).content).toContain('sandbox:');
    for (const path of ['/etc/shadow', '/root/.bashrc', '/proc/1/environ']) {
      expect(await errorOf(get(path))).toBe('400 read_failed');
    }
    await run('echo x > mine && chmod 000 mine');
    expect(await errorOf(get('mine'))).toBe('400 read_failed');
  });

  it('of anything but a regular file fails', async () => {
    for (const path of ['pipe', 'sock', '/dev/zero', '/dev/null', 'loop']) {
      expect(await errorOf(get(path))).toBe('400 read_failed');
    }
    await run('ln -s nowhere dangling');
    expect(await errorOf(get('dangling'))).toBe('404 not_found');
  });

  it('of a file in /proc or /sys returns its content', async () => {
    expect((await read('/proc/sys/kernel/ostype')).content).toBe('Linux\n');
    const online = '/sys/devices/system/cpu/online';
    expect((await read(online)).content.trim()).toBe(await run(`cat ${online}`));
    const cpus = await read('/proc/cpuinfo');
    expect(cpus.bytes).toBe(Buffer.byteLength(cpus.content));
    expect(cpus.bytes).toBeGreaterThan(0);
  });
});

describe('a listing', () => {
  it('has the type of each entry, sorted by name', async () => {
    await run(
      'mkdir -p kinds/dir && cd kinds && printf 123 > file && ln -s file link && ln -s nowhere lost && mkfifo pipe && touch .hidden Z',
    );
    const entries = [
      { name: '.hidden', type: 'file', size_bytes: 0 },
      { name: 'Z', type: 'file', size_bytes: 0 },
      { name: 'dir', type: 'dir', size_bytes: null },
      { name: 'file', type: 'file', size_bytes: 3 },
      { name: 'link', type: 'symlink', size_bytes: null },
      { name: 'lost', type: 'symlink', size_bytes: null },
      { name: 'pipe', type: 'file', size_bytes: null },
    ];
    for (const request of [get('kinds'), get('kinds', { list: 'true' }), get('./kinds/', { list: 'false' })]) {
      expect(await (await request).json()).toEqual({ object: 'list', path: '/workspace/kinds', entries });
    }
  });

  it('defaults to /workspace and works for any directory the user may read', async () => {
    const response = await call(shared.service, 'GET', files());
    expect(await response.json()).toMatchObject({ object: 'list', path: '/workspace' });
    expect((await list('/')).map(({ name }) => name)).toContain('workspace');
    expect((await list('/proc')).length).toBeGreaterThan(10);
    for (const path of ['/root', 'all', 'pipe', 'loop']) {
      expect(await errorOf(get(path, { list: 'true' }))).toBe('400 list_failed');
    }
    expect(await errorOf(get('/root'))).toBe('400 list_failed');
  });

  it('has up to 50,000 entries; a larger directory is refused', async () => {
    // Links in memory, because an emulated guest makes, lists and removes them many times as fast as files on the disk.
    const path = '/dev/shm/many-names';
    const make = 'import os; [os.symlink("x", f"{at:05}") for at in range(1, 50001)]';
    await run(`mkdir ${path} && cd ${path} && python3 -c '${make}'`);
    const entries = await list(path);
    expect([entries.length, entries[0]?.name, entries.at(-1)?.name]).toEqual([50_000, '00001', '50000']);
    await run(`touch ${path}/more`);
    const response = await get(path);
    expect(await response.json()).toMatchObject({
      error: { type: 'list_failed', message: expect.stringContaining('50000') },
    });
  });
});

describe('a delete', () => {
  it('removes a file', async () => {
    await write('gone', 'x');
    const response = await remove('gone');
    expect([response.status, await response.json()]).toEqual([
      200,
      { object: 'file', sandbox_id: shared.sandbox.id, path: '/workspace/gone', deleted: true },
    ]);
    expect(await errorOf(remove('gone'))).toBe('404 not_found');
  });

  it('removes a directory and its contents only with recursive=true', async () => {
    await run('mkdir -p tree/a/b/c && touch tree/a/b/c/file tree/.hidden && ln -s /etc tree/a/etc && mkfifo tree/pipe');
    expect(await errorOf(remove('tree'))).toBe('400 invalid_request');
    expect(await run('find tree | wc -l')).toBe('8');
    expect((await remove('tree/', { recursive: 'true' })).status).toBe(200);
    expect(await errorOf(get('tree'))).toBe('404 not_found');
    expect((await read('/etc/passwd')).content).toContain('sandbox:');
  });

  it('removes a symbolic link, not its target', async () => {
    await run(
      'mkdir -p kept && touch kept/file && ln -s kept to-dir && ln -s kept/file to-file && ln -s nowhere to-none',
    );
    for (const path of ['to-dir', 'to-file', 'to-none']) expect((await remove(path)).status).toBe(200);
    expect(await run('ls kept')).toBe('file');
  });

  it('refuses / and /workspace', async () => {
    for (const path of ['/', '//', '/workspace', '/workspace/', '.', './', '/workspace/../workspace', 'kept/..']) {
      expect(await errorOf(remove(path, { recursive: 'true' }))).toBe('400 invalid_request');
    }
    expect(await run('ls kept')).toBe('file');
  });

  it('fails where the user has no permission', async () => {
    for (const path of ['/etc/passwd', '/root/.bashrc', '/proc/1', '/sys/kernel', '/etc', '/dev/null']) {
      expect(await errorOf(remove(path, { recursive: 'true' }))).toBe('400 write_failed');
    }
    await run('mkdir -p closed/in && touch closed/file && chmod 555 closed');
    expect(await errorOf(remove('closed/file'))).toBe('400 write_failed');
    expect(await errorOf(remove('closed', { recursive: 'true' }))).toBe('400 write_failed');
    expect(await run('ls closed')).toBe('file\nin');
  });
});

describe('in a sandbox that ends with the tests', () => {
  let usual: SandboxBody;
  beforeAll(async () => {
    usual = shared.sandbox;
    shared.sandbox = await createSandbox(shared.service);
  });
  afterAll(() => {
    shared.sandbox = usual;
  });

  it('a write to a full disk fails and keeps the old file', async () => {
    await write('old', 'precious');
    // fallocate reserves the space without writing it, so the disk of the host does not fill up. 4 GiB are the most that a file may have.
    await run(
      'i=0; for size in 4G 64M 1M 64K 4K; do while fallocate -l $size fill$i 2>/dev/null; do i=$((i+1)); done; done; true',
    );
    expect(await errorOf(putBytes('old', noise(mib)))).toBe('400 write_failed');
    expect(await errorOf(putBytes('new', noise(mib)))).toBe('400 write_failed');
    expect((await read('old')).content).toBe('precious');
    expect(await errorOf(get('new'))).toBe('404 not_found');
    expect(await run('ls -A | grep -c "^\\.mayfly" || true')).toBe('0');
    expect((await remove('fill0')).status).toBe(200);
    await write('old', 'new');
  });

  it('file operations during the deletion of the sandbox: 502, afterwards 404', async () => {
    const live = shared.service.core.machines.get(shared.sandbox.id);
    await live.machine.pause();
    const started = vi.spyOn(live, 'whileAlive');
    const errors = [errorOf(putBytes('a', noise(limitBytes))), errorOf(get('.')), errorOf(remove('a'))];
    await vi.waitFor(() => expect(started).toHaveBeenCalledTimes(3), { timeout: 120_000 });
    const gone = call(shared.service, 'DELETE', `/sandboxes/${shared.sandbox.id}`);
    expect(new Set(await Promise.all(errors))).toEqual(new Set(['502 execution_failed']));
    expect((await gone).status).toBe(200);
    expect(await errorOf(get('.'))).toBe('404 not_found');
  });
});
