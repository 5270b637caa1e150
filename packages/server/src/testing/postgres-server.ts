// A real PostgreSQL for tests: from the npm package with its binaries, so that a machine needs nothing but Node. It refuses to
// run as root; under root it runs as nobody. Most tests need databases, and share the server of the run; those that stop,
// freeze or configure one have their own.

import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { Client } from 'pg';
import { freePort } from './free-port.ts';
import { asUser, own, preparePostgres, SUPERUSER } from './postgres-files.ts';

export interface Databases extends AsyncDisposable {
  readonly port: number;
  /** Of a database, for the superuser. */
  url(database?: string): string;
  /** Makes a database, empty or like another one that nobody uses at the moment; gives its URL. */
  createDatabase(like?: string): Promise<string>;
}

export interface PostgresServer extends Databases {
  readonly dataDirectory: string;
  /** As a power cut does: all of its processes at once. */
  kill(): Promise<void>;
  /** As an operator does: all connections are ended. */
  stop(): Promise<void>;
  /** Another one, started on a copy of its files as its standby; this one must not run. `from` is where it finds this one. */
  copyAsStandby(from: { readonly port: number }): Promise<PostgresServer>;
  /** After a kill or a stop, or to take settings. */
  start(settings?: Readonly<Record<string, string>>): Promise<void>;
  /** SIGSTOP and SIGCONT to all of its processes. */
  freeze(): Promise<void>;
  thaw(): Promise<void>;
}

/** However slow the machine is. */
const PATIENCE_MS = 120_000;
/** For connections of tests that are about something else than time. */
export const PATIENT_LIMITS = {
  connectMsMax: PATIENCE_MS,
  answerMsMax: PATIENCE_MS,
  idleMsMax: PATIENCE_MS,
} as const;
const execute = promisify(execFile);

/** The settings are those of an installation that keeps what it acknowledges; connections are enough for some nodes. */
const SETTINGS: Readonly<Record<string, string>> = {
  listen_addresses: '127.0.0.1',
  unix_socket_directories: '',
  max_connections: '200',
  shared_buffers: '64MB',
  log_min_messages: 'warning',
  wal_level: 'replica',
  // In its folder, so that nothing of a server that is killed is left.
  dynamic_shared_memory_type: 'mmap',
};

export async function startPostgres(
  settings: Readonly<Record<string, string>> = {},
): Promise<PostgresServer> {
  const made = await preparePostgres();
  const folder = mkdtempSync(join(tmpdir(), 'tallystick-pg-'));
  own(folder);
  await execute('cp', ['-a', join(made, 'cluster'), join(folder, 'data')]);
  return started(new LocalPostgres(join(made, 'native'), folder, settings));
}

/** One that does not start leaves no files behind. */
async function started(server: LocalPostgres): Promise<PostgresServer> {
  try {
    await server.start();
    return server;
  } catch (error) {
    await server[Symbol.asyncDispose]();
    throw error;
  }
}

/** The port of a server that all tests of a run share. */
const SHARED_PORT = 'TALLYSTICK_TEST_POSTGRES';

/** For the tests of a run that need databases, and no server of their own. */
export async function sharePostgres(): Promise<Databases> {
  const server = await startPostgres();
  process.env[SHARED_PORT] = String(server.port);
  return server;
}

/** Databases of the server that the run shares; of one of their own, where there is no such run. */
export async function openDatabases(): Promise<Databases> {
  const port = process.env[SHARED_PORT];
  return port === undefined ? startPostgres() : new SharedDatabases(Number(port));
}

/** By this process: no two have the same name. */
let databasesMade = 0;

class SharedDatabases implements Databases {
  readonly port: number;

  constructor(port: number) {
    this.port = port;
  }

  url(database?: string): string {
    return urlOf(this.port, database);
  }

  async createDatabase(like?: string): Promise<string> {
    const name = `test_${process.pid}_${++databasesMade}`;
    await createDatabase(this.url(), name, like);
    return this.url(name);
  }

  /** They go with their server: to drop one by one would take as long as the tests do. */
  async [Symbol.asyncDispose](): Promise<void> {}
}

function urlOf(port: number, database = 'postgres'): string {
  return `postgres://${SUPERUSER}@127.0.0.1:${port}/${database}`;
}

async function createDatabase(url: string, name: string, like?: string): Promise<void> {
  const template = like === undefined ? 'template1' : new URL(like).pathname.slice(1);
  // To copy files takes half of what it takes to log each of their pages.
  await run(url, `CREATE DATABASE ${name} TEMPLATE ${template} STRATEGY FILE_COPY`);
}

async function run(url: string, sql: string): Promise<void> {
  const client = new Client({ connectionString: url });
  await client.connect();
  try {
    await client.query(sql);
  } finally {
    await client.end();
  }
}

class LocalPostgres implements PostgresServer {
  readonly #native: string;
  readonly #folder: string;
  readonly dataDirectory: string;
  #settings: Readonly<Record<string, string>>;
  #process: ChildProcess | undefined;
  #said = '';
  #databases = 0;
  port = 0;

  constructor(native: string, folder: string, settings: Readonly<Record<string, string>>) {
    this.#native = native;
    this.#folder = folder;
    this.#settings = settings;
    this.dataDirectory = join(folder, 'data');
  }

  url(database?: string): string {
    return urlOf(this.port, database);
  }

  async createDatabase(like?: string): Promise<string> {
    const name = `test_${++this.#databases}`;
    await createDatabase(this.url(), name, like);
    return this.url(name);
  }

  async start(settings: Readonly<Record<string, string>> = {}): Promise<void> {
    this.#settings = { ...this.#settings, ...settings };
    if (this.port !== 0) return this.#startThere();
    for (;;) {
      this.port = await freePort();
      this.#said = '';
      try {
        return await this.#startThere();
      } catch (error) {
        // Somebody else has found the same port free.
        if (!this.#said.includes('Address already in use')) throw error;
      }
    }
  }

  async #startThere(): Promise<void> {
    const all = { ...SETTINGS, ...this.#settings, port: String(this.port) };
    const args = Object.entries(all).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
    // A group of its own, so that it can be killed with all of its processes.
    const child = spawn(join(this.#native, 'bin', 'postgres'), ['-D', this.dataDirectory, ...args], {
      ...asUser,
      detached: true,
      cwd: this.#folder,
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    child.stderr?.on('data', (bytes: Buffer) => (this.#said = (this.#said + bytes.toString()).slice(-4000)));
    this.#process = child;
    await this.#accepting(child);
  }

  async kill(): Promise<void> {
    await this.#end('SIGKILL');
    rmSync(join(this.dataDirectory, 'postmaster.pid'), { force: true });
  }

  async stop(): Promise<void> {
    const child = this.#process;
    if (child?.pid === undefined) return;
    const ended = once(child, 'exit');
    kill(child.pid, 'SIGINT');
    await ended;
    this.#process = undefined;
  }

  async copyAsStandby({ port }: { readonly port: number }): Promise<PostgresServer> {
    const folder = mkdtempSync(join(tmpdir(), 'tallystick-pg-'));
    own(folder);
    await execute('cp', ['-a', this.dataDirectory, join(folder, 'data')]);
    const signal = join(folder, 'data', 'standby.signal');
    writeFileSync(signal, '');
    own(signal);
    const primary_conninfo = `host=127.0.0.1 port=${port} user=${SUPERUSER} application_name=standby`;
    return started(new LocalPostgres(this.#native, folder, { ...this.#settings, primary_conninfo }));
  }

  async freeze(): Promise<void> {
    await this.#signal('SIGSTOP');
  }

  async thaw(): Promise<void> {
    await this.#signal('SIGCONT');
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#end('SIGKILL');
    rmSync(this.#folder, { recursive: true, force: true });
  }

  /** Each of its processes has a group of its own, but all are children of the first one, which makes no more of them. */
  async #signal(signal: NodeJS.Signals): Promise<readonly number[]> {
    const { pid } = this.#process ?? {};
    if (pid === undefined) return [];
    kill(pid, 'SIGSTOP');
    const children = await childrenOf(pid);
    for (const each of [...children, pid]) kill(each, signal);
    return children;
  }

  async #end(signal: NodeJS.Signals): Promise<void> {
    const child = this.#process;
    if (child === undefined || hasEnded(child)) return;
    const ended = once(child, 'exit');
    const children = await this.#signal(signal);
    await ended;
    // Until the last one is gone its memory is in use, and no other server starts upon the same data.
    const deadline = Date.now() + PATIENCE_MS;
    while (children.some(isRunning) && Date.now() < deadline) await pause();
    this.#process = undefined;
  }

  async #accepting(child: ChildProcess): Promise<void> {
    const deadline = Date.now() + PATIENCE_MS;
    for (;;) {
      if (hasEnded(child) || Date.now() > deadline) throw new Error(`PostgreSQL says: ${this.#said}`);
      if (await this.#isAnswering()) return;
      await pause();
    }
  }

  /** This one, not another that has found the same port free. */
  async #isAnswering(): Promise<boolean> {
    const client = new Client({ connectionString: this.url() });
    client.on('error', () => {});
    try {
      await client.connect();
      const { rows } = await client.query<Record<string, string>>('SHOW data_directory');
      return rows[0]?.['data_directory'] === this.dataDirectory;
    } catch {
      return false;
    } finally {
      await client.end().catch(() => {});
    }
  }
}

const pause = () => new Promise((resolve) => setTimeout(resolve, 20));

function hasEnded({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode !== null || signalCode !== null;
}

/** Where there is no list of processes to read, a program tells. */
async function childrenOf(pid: number): Promise<number[]> {
  if (!existsSync('/proc/self/stat')) {
    const { stdout } = await execute('pgrep', ['-P', String(pid)]).catch(() => ({ stdout: '' }));
    return stdout.split('\n').map(Number).filter(Boolean);
  }
  return readdirSync('/proc')
    .map(Number)
    .filter((each) => each > 0 && parentOf(each) === pid);
}

function parentOf(pid: number): number | undefined {
  const parent = statOf(pid)?.[1];
  return parent === undefined ? undefined : Number(parent);
}

/** One that has ended may wait for its parent to look, for ever. */
function isRunning(pid: number): boolean {
  if (existsSync('/proc/self/stat')) return !['Z', 'X', undefined].includes(statOf(pid)?.[0]);
  return kill(pid, 0);
}

/** Behind the name, which may hold anything: the state, then the parent. */
function statOf(pid: number): string[] | undefined {
  try {
    return readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)!.split(' ');
  } catch {
    // It has ended meanwhile.
    return undefined;
  }
}

function kill(pid: number, signal: NodeJS.Signals | 0): boolean {
  try {
    return process.kill(pid, signal);
  } catch {
    // It has ended by itself.
    return false;
  }
}
