import { createHash } from 'node:crypto';
import { type Directory, directorySchema, type ErrorBody, type File, fileSchema } from '@mayfly/contract';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { call, createSandbox, output, type SandboxBody } from '../support/http.ts';
import { startTestService, type TestService } from '../support/service.ts';

const mib = 1024 ** 2;
const limitBytes = 8 * mib;
const allBytes = Buffer.from(Array.from({ length: 256 }, (_, byte) => byte));
/** Of so many bytes, no two places alike. */
const noise = (bytes: number): Buffer => {
  const block = createHash('sha512').update('mayfly').digest();
  const whole = Buffer.alloc(bytes, block);
  for (let at = 0; at + 4 <= bytes; at += block.length) whole.writeUInt32LE(at, at);
  return whole;
};
const sha256 = (bytes: Buffer): string => createHash('sha256').update(bytes).digest('hex');

let service: TestService;
let sandbox: SandboxBody;
beforeAll(async () => {
  service = await startTestService();
  sandbox = await createSandbox(service);
});
afterAll(async () => {
  await service.stop();
});

const inside = (command: string): Promise<string> => output(service, sandbox.id, command);
const files = (query: Record<string, string> = {}): string => {
  const text = new URLSearchParams(query).toString();
  return `/sandboxes/${sandbox.id}/files${text === '' ? '' : `?${text}`}`;
};
const put = (path: string, content: string, encoding?: string): Promise<Response> =>
  call(service, 'PUT', files(), { path, content, ...(encoding !== undefined && { encoding }) });
const putBytes = (path: string, bytes: Buffer): Promise<Response> => put(path, bytes.toString('base64'), 'base64');
const get = (path: string, more: Record<string, string> = {}): Promise<Response> =>
  call(service, 'GET', files({ path, ...more }));
const remove = (path: string, more: Record<string, string> = {}): Promise<Response> =>
  call(service, 'DELETE', files({ path, ...more }));

const write = async (path: string, content: string): Promise<void> => {
  const response = await put(path, content);
  expect([response.status, await response.json()]).toMatchObject([201, { bytes: Buffer.byteLength(content) }]);
};
const read = async (path: string, more: Record<string, string> = {}): Promise<File> => {
  const response = await get(path, more);
  const body = await response.json();
  expect([response.status, body]).toMatchObject([200, { object: 'file' }]);
  return fileSchema.strict().parse(body);
};
const bytesOf = ({ content, encoding }: File): Buffer => Buffer.from(content, encoding);
const list = async (path: string): Promise<Directory['entries']> => {
  const response = await get(path, { list: 'true' });
  expect(response.status).toBe(200);
  return directorySchema.strict().parse(await response.json()).entries;
};
/** The status and type of an answer that is an error. */
const refusal = async (answer: Promise<Response>): Promise<string> => {
  const response = await answer;
  const { error } = (await response.json()) as ErrorBody;
  return `${response.status} ${error?.type}`;
};

describe('bytes', () => {
  it('are all kept, as base64 and, where they are text, as text', async () => {
    expect((await putBytes('all', allBytes)).status).toBe(201);
    expect(await inside('sha256sum < all')).toContain(sha256(allBytes));
    const file = await read('all');
    expect([file.encoding, file.bytes, file.path]).toEqual(['base64', 256, '/workspace/all']);
    expect(bytesOf(file)).toEqual(allBytes);
    expect(await refusal(get('all', { encoding: 'utf8' }))).toBe('400 read_failed');

    const text = `${String.fromCodePoint(...Array.from({ length: 0x800 }, (_, at) => at))}\ufeff€🦋\u2028\r\n`;
    await write('text', text);
    expect(await inside('sha256sum < text')).toContain(sha256(Buffer.from(text)));
    expect(await read('text')).toMatchObject({ encoding: 'utf8', content: text });
    expect(bytesOf(await read('text', { encoding: 'base64' }))).toEqual(Buffer.from(text));
  });

  it('can be none', async () => {
    await write('empty', '');
    expect(await read('empty')).toMatchObject({ encoding: 'utf8', content: '', bytes: 0 });
    expect(await inside('stat -c %s empty')).toBe('0');
  });

  it('are never read by a shell', async () => {
    const content = '$(touch /tmp/pwned) `id` "$HOME" \'; rm -rf / #\\';
    await write('shell', content);
    expect((await read('shell')).content).toBe(content);
    expect(await inside('ls /tmp | grep -c pwned || true')).toBe('0');
  });

  it('half of a surrogate pair is written as U+FFFD', async () => {
    await write('half', 'a\ufffdb');
    const response = await call(service, 'PUT', files(), { path: 'half', content: 'a\ud800b' });
    expect(response.status).toBe(201);
    expect((await read('half')).content).toBe('a\ufffdb');
  });
});

describe('8 MiB', () => {
  it('go in and come out in either encoding; one byte more does neither', async () => {
    const binary = noise(limitBytes);
    const response = await putBytes('big', binary);
    expect([response.status, await response.json()]).toMatchObject([201, { bytes: limitBytes }]);
    expect(await inside('sha256sum < big')).toContain(sha256(binary));
    expect(bytesOf(await read('big')).equals(binary)).toBe(true);

    const text = Buffer.alloc(limitBytes, 'äöü\n');
    expect((await put('bigtext', text.toString())).status).toBe(201);
    expect(await inside('sha256sum < bigtext')).toContain(sha256(text));
    expect(bytesOf(await read('bigtext', { encoding: 'utf8' })).equals(text)).toBe(true);

    await inside('echo -n x >> big');
    expect(await refusal(get('big'))).toBe('413 file_too_large');
    expect(await refusal(putBytes('bigtext', Buffer.concat([binary, Buffer.from('x')])))).toBe('413 file_too_large');
    expect(await refusal(put('bigtext', `${text.toString()}x`))).toBe('413 file_too_large');
    expect(await inside('sha256sum < bigtext')).toContain(sha256(text));
    expect(await inside('ls -A | grep -c "^\\.mayfly" || true')).toBe('0');
  });

  it('eight times at once', async () => {
    const contents = Array.from({ length: 8 }, (_, at) => noise(limitBytes - at));
    const written = await Promise.all(contents.map((content, at) => putBytes(`many/${at}`, content)));
    expect(written.map(({ status }) => status)).toEqual(Array.from({ length: 8 }, () => 201));
    const back = await Promise.all(contents.map((_, at) => read(`many/${at}`, { encoding: 'base64' })));
    expect(back.map((file, at) => bytesOf(file).equals(contents[at] ?? Buffer.alloc(0)))).not.toContain(false);
  });

  it('a body of more than 10.7 MiB is refused, and the caller hears it', async () => {
    expect(await refusal(put('huge', 'x'.repeat(12 * mib)))).toBe('413 request_error');
  });
});

describe('names', () => {
  const odd = [
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

  it('of every kind are written, listed, read and deleted', async () => {
    for (const name of odd) await write(`odd/${name}`, name);
    const sorted = odd.toSorted((a, b) => Buffer.compare(Buffer.from(a), Buffer.from(b)));
    expect(await list('odd')).toEqual(
      sorted.map((name) => ({ name, type: 'file', size_bytes: Buffer.byteLength(name) })),
    );
    expect(await inside('ls -A odd | wc -l')).toBe(String(odd.length + 1));
    for (const name of odd) {
      expect(await read(`odd/${name}`)).toMatchObject({ path: `/workspace/odd/${name}`, content: name });
      expect((await remove(`odd/${name}`)).status).toBe(200);
    }
    expect(await list('odd')).toEqual([]);
  });

  it('are 255 bytes long at most, and paths 4095', async () => {
    await write('long/name', '');
    for (const name of ['x'.repeat(256), '🦋'.repeat(64)]) {
      expect(await refusal(put(`long/${name}`, ''))).toBe('400 write_failed');
      expect(await refusal(get(`long/${name}`))).toBe('400 read_failed');
      expect(await refusal(remove(`long/${name}`))).toBe('400 invalid_request');
    }
    const deep = (segments: number, last: number) =>
      `/workspace/${'d'.repeat(99)}/`.padEnd(11 + segments * 100, `${'d'.repeat(99)}/`) + 'f'.repeat(last);
    expect(Buffer.byteLength(deep(40, 84))).toBe(4_095);
    await write(deep(40, 84), 'deep');
    expect((await read(deep(40, 84))).content).toBe('deep');
    expect(await refusal(put(deep(40, 85), ''))).toBe('400 write_failed');
    expect(await refusal(put(deep(41, 1), ''))).toBe('400 invalid_request');
    expect(await refusal(put('🦋/'.repeat(2_048), ''))).toBe('400 write_failed');
    expect((await remove(`/workspace/${'d'.repeat(99)}`, { recursive: 'true' })).status).toBe(200);
  });

  it('that are no UTF-8 are listed with U+FFFD', async () => {
    await inside(`mkdir bad && touch "bad/$(printf 'a\\377b')"`);
    expect(await list('bad')).toEqual([{ name: 'a\ufffdb', type: 'file', size_bytes: 0 }]);
    expect((await remove('bad', { recursive: 'true' })).status).toBe(200);
  });
});

describe('paths', () => {
  it('are answered whole, and a relative one stays in /workspace', async () => {
    const response = await put('./sub//dir/../file.txt', 'x');
    expect(await response.json()).toEqual({
      object: 'file',
      sandbox_id: sandbox.id,
      path: '/workspace/sub/file.txt',
      bytes: 1,
    });
    expect((await read('/workspace/../workspace/sub/./file.txt')).path).toBe('/workspace/sub/file.txt');
    for (const path of ['..', '../etc/passwd', 'sub/../../etc/passwd', '../workspace/sub/file.txt', '', 'a\0b']) {
      expect(await refusal(put(path, ''))).toBe('400 invalid_request');
      expect(await refusal(get(path))).toBe('400 invalid_request');
      expect(await refusal(remove(path))).toBe('400 invalid_request');
    }
  });

  it('that do not exist are not found', async () => {
    for (const path of ['nothing', 'nothing/below', '/nowhere', 'all/below']) {
      expect(await refusal(get(path))).toBe('404 not_found');
      expect(await refusal(remove(path))).toBe('404 not_found');
    }
    expect(await refusal(get('nothing', { list: 'true' }))).toBe('404 not_found');
  });

  it('get the parent directories they need, the user’s own', async () => {
    await write('made/on/the/way.txt', 'x');
    expect(await inside("stat -c '%U:%G %a %F' made made/on/the made/on/the/way.txt")).toBe(
      'sandbox:sandbox 755 directory\nsandbox:sandbox 755 directory\nsandbox:sandbox 644 regular file',
    );
    expect(await refusal(put('all/below', ''))).toBe('400 write_failed');
  });
});

describe('a write', () => {
  it('keeps the mode of a file that exists, and the owner is the user', async () => {
    await inside('echo old > script && chmod 750 script');
    await write('script', '#!/bin/sh\necho ran');
    expect(await inside("stat -c '%U:%G %a' script && ./script")).toBe('sandbox:sandbox 750\nran');
  });

  it('goes through symbolic links, also ones that dangle', async () => {
    await inside('mkdir -p links target && ln -s ../target/file links/link && ln -s link links/second');
    await write('links/second', 'through\n');
    expect(await inside('cat target/file && readlink links/second links/link')).toBe('through\nlink\n../target/file');
    expect((await read('links/second')).content).toBe('through\n');
    await inside('ln -s target folder');
    await write('folder/other', 'x');
    expect(await inside('cat target/other')).toBe('x');
  });

  it('does not reach what the user may not write', async () => {
    for (const path of ['/etc/passwd', '/etc/new', '/root/x', '/usr/bin/x', '/x', '/new/x', '/boot/x']) {
      expect(await refusal(put(path, 'x'))).toBe('400 write_failed');
    }
    await inside('echo old > locked && chmod 444 locked && mkdir shut && chmod 555 shut');
    expect(await refusal(put('locked', 'new'))).toBe('400 write_failed');
    expect(await refusal(put('shut/file', 'new'))).toBe('400 write_failed');
    expect(await inside('cat locked && ls -A shut | wc -l')).toBe('old\n0');
    await inside('ln -s /etc/passwd escape');
    expect(await refusal(put('escape', 'x'))).toBe('400 write_failed');
  });

  it('does not replace what is no regular file', async () => {
    await inside(
      'mkfifo pipe; mkdir -p somewhere; ln -s loop loop; python3 -c "import socket; socket.socket(1).bind(\'sock\')"',
    );
    const others = ['pipe', 'sock', 'somewhere', 'somewhere/', 'loop', '/dev/null', '/', '/workspace', '.', 'new/'];
    for (const path of others) expect(await refusal(put(path, 'x'))).toBe('400 write_failed');
    for (const path of ['/proc/x', '/proc/self/comm/x', '/sys/x', '/sys/kernel/x', '/dev/x']) {
      expect(await refusal(put(path, 'x'))).toBe('400 write_failed');
    }
    expect(await inside("stat -c '%F' pipe sock somewhere; ls -A | grep -c '^\\.mayfly' || true")).toBe(
      'fifo\nsocket\ndirectory\n0',
    );
  });

  it('of bad base64 or in an unknown encoding is refused', async () => {
    for (const content of ['QQ', 'Q===', 'QQ==\n', 'Q Q=', '-_-_', 'é===']) {
      expect(await refusal(put('bad64', content, 'base64'))).toBe('400 invalid_request');
    }
    expect(await refusal(put('bad64', 'QQ==', 'latin1'))).toBe('400 invalid_request');
    expect(await refusal(get('bad64'))).toBe('404 not_found');
  });
});

describe('a read', () => {
  it('sees what the user may see', async () => {
    expect((await read('/etc/passwd')).content).toContain('sandbox:');
    for (const path of ['/etc/shadow', '/root/.bashrc', '/proc/1/environ']) {
      expect(await refusal(get(path))).toBe('400 read_failed');
    }
    await inside('echo x > mine && chmod 000 mine');
    expect(await refusal(get('mine'))).toBe('400 read_failed');
  });

  it('of what is no regular file fails at once', async () => {
    for (const path of ['pipe', 'sock', '/dev/zero', '/dev/null', 'loop']) {
      expect(await refusal(get(path))).toBe('400 read_failed');
    }
    await inside('ln -s nowhere dangling');
    expect(await refusal(get('dangling'))).toBe('404 not_found');
  });

  it('of the kernel’s files gives what they say', async () => {
    expect((await read('/proc/sys/kernel/ostype')).content).toBe('Linux\n');
    const cpus = await read('/proc/cpuinfo');
    expect(cpus.bytes).toBe(Buffer.byteLength(cpus.content));
    expect(cpus.bytes).toBeGreaterThan(0);
  });
});

describe('a listing', () => {
  it('tells files, directories, links and others apart, sorted by name', async () => {
    await inside(
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
    for (const answer of [get('kinds'), get('kinds', { list: 'true' }), get('./kinds/', { list: 'false' })]) {
      expect(await (await answer).json()).toEqual({ object: 'list', path: '/workspace/kinds', entries });
    }
  });

  it('is of /workspace without a path, and of any directory the user may read', async () => {
    const response = await call(service, 'GET', files());
    expect(await response.json()).toMatchObject({ object: 'list', path: '/workspace' });
    expect((await list('/')).map(({ name }) => name)).toContain('workspace');
    expect((await list('/proc')).length).toBeGreaterThan(10);
    for (const path of ['/root', 'all', 'pipe', 'loop']) {
      expect(await refusal(get(path, { list: 'true' }))).toBe('400 list_failed');
    }
    expect(await refusal(get('/root'))).toBe('400 list_failed');
  });

  it('is whole or refused: 50,000 entries are the most', async () => {
    await inside('mkdir many-names && cd many-names && seq -w 1 50000 | xargs touch');
    const entries = await list('many-names');
    expect([entries.length, entries[0]?.name, entries.at(-1)?.name]).toEqual([50_000, '00001', '50000']);
    await inside('touch many-names/more');
    const response = await get('many-names');
    expect(await response.json()).toMatchObject({
      error: { type: 'list_failed', message: expect.stringContaining('50000') },
    });
    expect((await remove('many-names', { recursive: 'true' })).status).toBe(200);
  });
});

describe('a delete', () => {
  it('takes a file away', async () => {
    await write('gone', 'x');
    const response = await remove('gone');
    expect([response.status, await response.json()]).toEqual([
      200,
      { object: 'file', sandbox_id: sandbox.id, path: '/workspace/gone', deleted: true },
    ]);
    expect(await refusal(remove('gone'))).toBe('404 not_found');
  });

  it('takes a directory and all in it away, but only if it is told to', async () => {
    await inside(
      'mkdir -p tree/a/b/c && touch tree/a/b/c/file tree/.hidden && ln -s /etc tree/a/etc && mkfifo tree/pipe',
    );
    expect(await refusal(remove('tree'))).toBe('400 invalid_request');
    expect(await inside('find tree | wc -l')).toBe('8');
    expect((await remove('tree/', { recursive: 'true' })).status).toBe(200);
    expect(await refusal(get('tree'))).toBe('404 not_found');
    expect((await read('/etc/passwd')).content).toContain('sandbox:');
  });

  it('takes a symbolic link away, not what it leads to', async () => {
    await inside(
      'mkdir -p kept && touch kept/file && ln -s kept to-dir && ln -s kept/file to-file && ln -s nowhere to-none',
    );
    for (const path of ['to-dir', 'to-file', 'to-none']) expect((await remove(path)).status).toBe(200);
    expect(await inside('ls kept')).toBe('file');
  });

  it('leaves / and /workspace alone', async () => {
    for (const path of ['/', '//', '/workspace', '/workspace/', '.', './', '/workspace/../workspace', 'kept/..']) {
      expect(await refusal(remove(path, { recursive: 'true' }))).toBe('400 invalid_request');
    }
    expect(await inside('ls kept')).toBe('file');
  });

  it('is refused where the user may not', async () => {
    for (const path of ['/etc/passwd', '/root/.bashrc', '/proc/1', '/sys/kernel', '/etc', '/dev/null']) {
      expect(await refusal(remove(path, { recursive: 'true' }))).toBe('400 write_failed');
    }
    await inside('mkdir -p closed/in && touch closed/file && chmod 555 closed');
    expect(await refusal(remove('closed/file'))).toBe('400 write_failed');
    expect(await refusal(remove('closed', { recursive: 'true' }))).toBe('400 write_failed');
    expect(await inside('ls closed')).toBe('file\nin');
  });
});

it('on a full disk fails and leaves the old file', async () => {
  const usual = sandbox;
  sandbox = await createSandbox(service);
  try {
    await write('old', 'precious');
    // fallocate takes the space without writing it, so the host's disk does not fill.
    await inside(
      'i=0; for size in 2G 64M 1M 64K 4K; do while fallocate -l $size fill$i 2>/dev/null; do i=$((i+1)); done; done; true',
    );
    expect(await refusal(putBytes('old', noise(limitBytes)))).toBe('400 write_failed');
    expect(await refusal(putBytes('new', noise(limitBytes)))).toBe('400 write_failed');
    expect((await read('old')).content).toBe('precious');
    expect(await refusal(get('new'))).toBe('404 not_found');
    expect(await inside('ls -A | grep -c "^\\.mayfly" || true')).toBe('0');
    expect((await remove('fill0')).status).toBe(200);
    await write('old', 'new');
  } finally {
    sandbox = usual;
  }
});

it('in a sandbox that goes away meanwhile is a 502, then a 404', async () => {
  const usual = sandbox;
  sandbox = await createSandbox(service);
  try {
    const live = service.core.machines.get(sandbox.id);
    await live.machine.pause();
    const asked = vi.spyOn(live, 'whileAlive');
    const answers = [refusal(putBytes('a', noise(limitBytes))), refusal(get('.')), refusal(remove('a'))];
    await vi.waitFor(() => expect(asked).toHaveBeenCalledTimes(3), { timeout: 30_000 });
    const gone = call(service, 'DELETE', `/sandboxes/${sandbox.id}`);
    expect(new Set(await Promise.all(answers))).toEqual(new Set(['502 execution_failed']));
    expect((await gone).status).toBe(200);
    expect(await refusal(get('.'))).toBe('404 not_found');
  } finally {
    sandbox = usual;
  }
});
