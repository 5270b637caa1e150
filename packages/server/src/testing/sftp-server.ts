// A real SSH server on loopback with files in memory: the server side of ssh2. It has the faults of destinations on request.

import { createHash, generateKeyPairSync } from 'node:crypto';
import type { EventEmitter } from 'node:events';
import { createRequire } from 'node:module';
import type { AddressInfo } from 'node:net';

export const SFTP_USER = 'ana';
export const SFTP_PASSWORD = 'hunter2 of the test';

const FX = { ok: 0, noSuchFile: 2, failure: 4, unsupported: 8 } as const;
const TRUNCATES = 0x10;

interface Auth {
  readonly method: string;
  readonly username: string;
  readonly password?: string;
  readonly key?: { readonly data: Buffer };
  accept(): void;
  reject(methods?: readonly string[]): void;
}

interface Stream extends EventEmitter {
  status(id: number, code: number): void;
  handle(id: number, handle: Buffer): void;
  attrs(id: number, attrs: object): void;
}

interface Ssh {
  readonly Server: new (options: object, onClient: (client: Client) => void) => Listening;
  readonly utils: { parseKey(text: string): { getPublicSSH(): Buffer } };
}

interface Client extends EventEmitter {
  end(): void;
}

interface Listening extends EventEmitter {
  listen(port: number, host: string, done: () => void): void;
  address(): AddressInfo;
  close(done: () => void): void;
}

const LIBRARY: string = 'ssh2';
// At once: a test that awaits while it is loaded would need a process of its own.
const { Server, utils } = createRequire(import.meta.url)(LIBRARY) as Ssh;

export class SftpServer implements AsyncDisposable {
  readonly files = new Map<string, Buffer>();
  /** The names as they were given, in order. */
  readonly renamed: (readonly [from: string, to: string])[] = [];
  /** Once, when so many bytes have been written since it was set. */
  cutAfterBytes = Infinity;
  /** Of all files together. */
  diskBytesMax = Infinity;
  /** It answers no more writes. */
  isHanging = false;
  /** Hangs as soon as so many bytes have been written. */
  hangsAtBytes = Infinity;
  /** Of the user, in the form of OpenSSH. */
  userKey: string | undefined;
  written = 0;
  connections = 0;
  readonly #clients = new Set<Client>();
  #hostKey = newHostKey();
  #otherHostKey = newHostKey();
  #server: Listening | undefined;
  #port = 0;

  static async start(): Promise<SftpServer> {
    const server = new SftpServer();
    await server.#listen();
    return server;
  }

  get port(): number {
    return this.#port;
  }

  get fingerprint(): string {
    const key = utils.parseKey(this.#hostKey).getPublicSSH();
    return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
  }

  destination(more: object = {}): object {
    return {
      type: 'Sftp',
      host: '127.0.0.1',
      port: this.#port,
      path: '/in',
      username: SFTP_USER,
      password: SFTP_PASSWORD,
      hostKeyFingerprint: this.fingerprint,
      ...more,
    };
  }

  /** To another one, and back. */
  async changeHostKey(): Promise<void> {
    await this.#close();
    [this.#hostKey, this.#otherHostKey] = [this.#otherHostKey, this.#hostKey];
    await this.#listen();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#close();
  }

  async #listen(): Promise<void> {
    const server = new Server({ hostKeys: [this.#hostKey] }, (client) => this.#serve(client));
    this.#server = server;
    await new Promise<void>((resolve) => server.listen(this.#port, '127.0.0.1', resolve));
    this.#port = server.address().port;
  }

  async #close(): Promise<void> {
    for (const client of this.#clients) destroy(client);
    await new Promise<void>((resolve) => this.#server!.close(resolve));
  }

  #serve(client: Client): void {
    this.connections++;
    this.#clients.add(client);
    client.on('error', () => undefined);
    client.on('close', () => this.#clients.delete(client));
    client.on('authentication', (auth: Auth) => {
      const isPassword = auth.method === 'password' && auth.password === SFTP_PASSWORD;
      const isKey = auth.method === 'publickey' && this.#isUserKey(auth.key?.data);
      if (auth.username === SFTP_USER && (isPassword || isKey)) auth.accept();
      else auth.reject(['password', 'publickey']);
    });
    client.on('session', (accept: () => EventEmitter) =>
      accept().on('sftp', (open: () => Stream) => this.#serveFiles(open(), client)),
    );
  }

  #isUserKey(data: Buffer | undefined): boolean {
    return this.userKey !== undefined && data?.equals(utils.parseKey(this.userKey).getPublicSSH()) === true;
  }

  #serveFiles(stream: Stream, client: Client): void {
    const pathOf = (handle: Buffer) => handle.toString();
    stream.on('OPEN', (id: number, path: string, flags: number) => {
      if (!path.startsWith('/in/')) return stream.status(id, FX.noSuchFile);
      if ((flags & TRUNCATES) !== 0) this.files.set(path, Buffer.alloc(0));
      if (!this.files.has(path)) return stream.status(id, FX.noSuchFile);
      stream.handle(id, Buffer.from(path));
    });
    stream.on('WRITE', (id: number, handle: Buffer, offset: number, bytes: Buffer) => {
      if (this.written >= this.hangsAtBytes) this.isHanging = true;
      if (this.isHanging) return;
      if (this.written + bytes.length > this.cutAfterBytes) {
        this.cutAfterBytes = Infinity;
        return destroy(client);
      }
      const before = this.files.get(pathOf(handle))!;
      const size = Math.max(before.length, offset + bytes.length);
      const others = [...this.files].filter(([path]) => path !== pathOf(handle));
      const used = others.reduce((sum, [, file]) => sum + file.length, size);
      if (used > this.diskBytesMax) return stream.status(id, FX.failure);
      const after =
        before.length === size ? before : Buffer.concat([before, Buffer.alloc(size - before.length)]);
      bytes.copy(after, offset);
      this.files.set(pathOf(handle), after);
      this.written += bytes.length;
      stream.status(id, FX.ok);
    });
    const onStat = (id: number, path: string) => {
      const file = this.files.get(path);
      if (file === undefined) return stream.status(id, FX.noSuchFile);
      stream.attrs(id, { mode: 0o100644, uid: 0, gid: 0, size: file.length, atime: 0, mtime: 0 });
    };
    stream.on('STAT', onStat);
    stream.on('CLOSE', (id: number) => stream.status(id, FX.ok));
    stream.on('REMOVE', (id: number, path: string) =>
      stream.status(id, this.files.delete(path) ? FX.ok : FX.noSuchFile),
    );
    stream.on('RENAME', (id: number, from: string, to: string) => {
      const file = this.files.get(from);
      // As old servers do, it replaces nothing.
      if (file === undefined || this.files.has(to)) return stream.status(id, FX.failure);
      this.files.delete(from);
      this.files.set(to, file);
      this.renamed.push([from, to]);
      stream.status(id, FX.ok);
    });
  }
}

/** As a cable that is cut: `end` would say goodbye. */
function destroy(client: Client): void {
  (Reflect.get(client, '_sock') as { destroy(): void }).destroy();
}

function newHostKey(): string {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  return privateKey.export({ type: 'pkcs1', format: 'pem' }) as string;
}

/** A key of a user, in PEM. */
export const newUserKey = newHostKey;
