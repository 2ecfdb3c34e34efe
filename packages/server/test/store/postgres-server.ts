import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { chownSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import pg from 'pg';
import { findPostgres, type UnixUser, unprivilegedUser } from './postgres-host.ts';

const startDeadlineMs = 60_000;
const readyLine = 'database system is ready to accept connections';
const user = 'mayfly';
const password = 'only-for-tests';

/** A PostgreSQL server of one's own in a temporary folder, on a loopback port, gone with the process that started it. */
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

  /** Makes a server and starts it; to be removed when it is no longer needed. */
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

  /** Where a database is; another port is that of something in between. */
  url(database: string, { port = this.port, password: given = password } = {}): string {
    return `postgres://${user}:${given}@127.0.0.1:${port}/${database}`;
  }

  /** Makes an empty database; gives its name. */
  async createDatabase(more = ''): Promise<string> {
    const name = `test_${this.#databases++}`;
    await this.run('postgres', `create database ${name} ${more}`);
    return name;
  }

  /** Runs SQL as the owner of everything. */
  async run(database: string, sql: string): Promise<readonly unknown[]> {
    const client = new pg.Client({ connectionString: this.url(database) });
    // A server that dies beside it is told by the query that fails, not to the whole process.
    client.on('error', () => {});
    await client.connect();
    try {
      return (await client.query(sql)).rows as unknown[];
    } finally {
      await client.end();
    }
  }

  /** Starts it, again at the same place with the same databases; gives once it takes connections. */
  async start(): Promise<void> {
    const options = ['-D', this.#data, '-p', `${this.port}`, '-k', this.#folder, '-h', '127.0.0.1'];
    // What is committed outlives a crash of the server, not one of the machine.
    const settings = ['fsync=off', 'full_page_writes=off', 'shared_buffers=32MB'];
    const args = [...options, ...settings.flatMap((setting) => ['-c', setting])];
    const [file, ...prefix] = this.#command('postgres');
    const child = spawn(file, [...prefix, ...args], { stdio: ['ignore', 'ignore', 'pipe'], cwd: this.#folder });
    this.#process = child;
    await ready(child);
  }

  /** Ends it at once, as a crash would (`kill`) or orderly, cutting all connections (`fast`). */
  async stop(how: 'fast' | 'kill' = 'fast'): Promise<void> {
    const child = this.#process;
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return;
    const ended = new Promise((resolve) => child.once('exit', resolve));
    // Immediate shutdown: no farewell to anybody, recovery at the next start.
    child.kill(how === 'fast' ? 'SIGINT' : 'SIGQUIT');
    await ended;
  }

  /** Ends it and removes all it wrote. */
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

  /** A program of PostgreSQL as a user that it accepts; it ends with this process, however that ends. */
  #command(program: string): [string, ...string[]] {
    const identity = this.#runAs ? [`--reuid=${this.#runAs.uid}`, `--regid=${this.#runAs.gid}`, '--clear-groups'] : [];
    return ['setpriv', ...identity, '--pdeathsig=QUIT', join(this.#programs, program)];
  }
}

/** Waits for the line that says it is ready; what it wrote instead is the error. */
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
