import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, existsSync, globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';

const startDeadlineMs = 60_000;
const readyLine = 'database system is ready to accept connections';
const user = 'mayfly';
const password = 'only-for-tests';

/** A private PostgreSQL server in a temporary folder, on a loopback port. It ends with the process that started it. */
export class PostgresServer {
  readonly port: number;
  readonly #folder: string;
  readonly #programs: string;
  readonly #runAs: UnixUser | undefined;
  #process: ChildProcess | undefined;
  #databases = 0;

  private constructor(port: number) {
    this.port = port;
    this.#programs = findPostgres();
    this.#runAs = unprivilegedUser();
    this.#folder = mkdtempSync(join(tmpdir(), 'mayfly-postgres-'));
    if (this.#runAs) chownSync(this.#folder, this.#runAs.uid, this.#runAs.gid);
  }

  /** Creates and starts a server. Call `remove` when it is no longer needed. */
  static async create(): Promise<PostgresServer> {
    const server = new PostgresServer(await freePort());
    try {
      server.#initialise();
      await server.start();
      return server;
    } catch (error) {
      await server.remove();
      throw error;
    }
  }

  /** The URL of a database; `port` may be a proxy's. */
  url(database: string, { port = this.port, password: given = password } = {}): string {
    return `postgres://${user}:${given}@127.0.0.1:${port}/${database}`;
  }

  /** Creates an empty database and returns its name. */
  async createDatabase(more = ''): Promise<string> {
    const name = `test_${this.#databases++}`;
    await this.run('postgres', `create database ${name} ${more}`);
    return name;
  }

  /** Runs SQL as the superuser. */
  async run(database: string, sql: string): Promise<readonly unknown[]> {
    const client = new pg.Client({ connectionString: this.url(database) });
    // If the server dies, the query fails; without a listener the event would end the process.
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(sql)).rows as unknown[];
    } finally {
      await client.end();
    }
  }

  /** Starts the server, or restarts it with the same port and data. Resolves when it accepts connections. */
  async start(): Promise<void> {
    const options = ['-D', this.#data, '-p', `${this.port}`, '-k', this.#folder, '-h', '127.0.0.1'];
    // Commits survive a crash of the server, but not of the host.
    const settings = ['fsync=off', 'full_page_writes=off', 'shared_buffers=32MB'];
    const args = [...options, ...settings.flatMap((setting) => ['-c', setting])];
    const [file, ...prefix] = this.#command('postgres');
    const child = spawn(file, [...prefix, ...args], { stdio: ['ignore', 'ignore', 'pipe'], cwd: this.#folder });
    this.#process = child;
    await ready(child);
  }

  /** Stops the server: orderly, closing all connections (`fast`), or at once like a crash (`kill`). */
  async stop(how: 'fast' | 'kill' = 'fast'): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    // SIGQUIT is an immediate shutdown: the server recovers at the next start.
    child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  /** Stops the server and deletes its files. */
  async remove(): Promise<void> {
    await this.stop('kill');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  get #data(): string {
    return join(this.#folder, 'data');
  }

  #initialise(): void {
    const passwordPath = join(this.#folder, 'password');
    writeFileSync(passwordPath, password, { mode: 0o644 });
    const [file, ...prefix] = this.#command('initdb');
    const options = ['-D', this.#data, '-U', user, `--pwfile=${passwordPath}`, '--auth=scram-sha-256'];
    const args = [...prefix, ...options, '--encoding=UTF8', '--locale=C', '--no-sync'];
    execFileSync(file, args, { stdio: ['ignore', 'ignore', 'pipe'], cwd: this.#folder });
  }

  /** The command line of a PostgreSQL program, run as a user it accepts and killed when this process ends. */
  #command(program: string): [string, ...string[]] {
    const identity = this.#runAs ? [`--reuid=${this.#runAs.uid}`, `--regid=${this.#runAs.gid}`, '--clear-groups'] : [];
    return ['setpriv', ...identity, '--pdeathsig=QUIT', join(this.#programs, program)];
  }
}

/** Waits until the server logs that it is ready; on failure the error contains its output. */
function ready(child: ChildProcess): Promise<void> {
  return new Promise((resolve, reject) => {
    const seen: string[] = [];
    const fail = () => reject(new Error(`PostgreSQL did not start:\n${seen.join('\n')}`));
    const deadline = setTimeout(fail, startDeadlineMs);
    child.once('exit', fail);
    child.once('error', reject);
    if (child.stderr === null) return fail();
    createInterface(child.stderr).on('line', (line) => {
      if (seen.length < 100) seen.push(line);
      if (!line.includes(readyLine)) return;
      clearTimeout(deadline);
      child.off('exit', fail);
      resolve();
    });
  });
}

function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer().once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address ? address.port : 0));
    });
  });
}

interface UnixUser {
  readonly uid: number;
  readonly gid: number;
}

/** The folder of PostgreSQL's programs: Debian's newest version, else the one on the PATH. */
function findPostgres(): string {
  const version = (path: string) => Number.parseFloat(path.split('/').at(-3) ?? '');
  const servers = globSync('/usr/lib/postgresql/*/bin/postgres').sort((a, b) => version(b) - version(a));
  const folders = [...servers.map(dirname), ...(process.env.PATH ?? '').split(':')];
  const found = folders.find((folder) => existsSync(`${folder}/initdb`) && existsSync(`${folder}/postgres`));
  if (found === undefined)
    throw new Error('PostgreSQL is not installed: run the tests with npm test, which installs it.');
  return found;
}

/** The user to run PostgreSQL as, because it refuses to run as root; undefined unless this process is root. */
function unprivilegedUser(): UnixUser | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const users = new Map(readFileSync('/etc/passwd', 'utf8').split('\n').map(parseUser));
  const user = users.get('postgres') ?? users.get('nobody');
  if (user === undefined) throw new Error('there is neither a user postgres nor a user nobody');
  return user;
}

function parseUser(line: string): [name: string, user: UnixUser] {
  const [name = '', , uid, gid] = line.split(':');
  return [name, { uid: Number(uid), gid: Number(gid) }];
}
