// A connection to an SFTP server. Each step has a time, and ends with the connection: a server that says nothing holds nobody up.

import { createHash } from 'node:crypto';
import type { SftpDestination } from '../exports/export-target.ts';
import { DeliveryError } from './delivery-error.ts';
import type { Clock } from '../runtime/clock.ts';
import type { GuardedSockets } from './guarded-socket.ts';
import { OutboundError } from './http/outbound-error.ts';
import { type Done, type Given, type Prompt, type Sftp, SFTP_STATUS, type SshClient } from './ssh-library.ts';
import type { SshLibrary } from './ssh-library.ts';

export interface SessionParts {
  readonly sockets: Pick<GuardedSockets, 'open'>;
  readonly clock: Clock;
  /** For each step. */
  readonly stepMs: number;
  readonly load: () => Promise<SshLibrary>;
}

const SSH_PORT = 22;
const KEEPALIVE_MS = 10_000;

export class SftpSession implements Disposable {
  readonly #client: SshClient;
  readonly #parts: SessionParts;
  readonly #signal: AbortSignal;
  readonly #waiting = new Set<(error: Error) => void>();
  readonly #abort = () => this.#end(this.#signal.reason as Error);
  #ended: Error | undefined;
  #sftp: Sftp | undefined;

  private constructor(client: SshClient, signal: AbortSignal, parts: SessionParts) {
    this.#client = client;
    this.#signal = signal;
    this.#parts = parts;
    client.on('error', (error: Error) => this.#end(faultOf(error)));
    client.on('close', () => this.#end(new DeliveryError('Unreachable', 'the server closed the connection')));
    signal.addEventListener('abort', this.#abort);
  }

  static async open(
    destination: SftpDestination,
    signal: AbortSignal,
    parts: SessionParts,
  ): Promise<SftpSession> {
    const { host, port = SSH_PORT } = destination;
    const { Client } = await parts.load();
    const socket = await parts.sockets
      .open({ host, port }, { timeoutMs: parts.stepMs, signal })
      .catch((error: unknown) => {
        throw error instanceof OutboundError ? connectFault(error) : error;
      });
    const session = new SftpSession(new Client(), signal, parts);
    try {
      await session.#connect(destination, socket);
    } catch (error) {
      session[Symbol.dispose]();
      socket.destroy();
      throw error;
    }
    return session;
  }

  /** Undefined: there is no such file. */
  async sizeOf(path: string): Promise<number | undefined> {
    try {
      return (await this.#given<{ readonly size: number }>((done) => this.#sftp!.stat(path, done))).size;
    } catch (error) {
      if (isNoSuchFile(error)) return undefined;
      throw error;
    }
  }

  open(path: string, flags: 'w' | 'r+'): Promise<Buffer> {
    return this.#given((done) => this.#sftp!.open(path, flags, done));
  }

  write(handle: Buffer, bytes: Buffer, position: number): Promise<void> {
    return this.#done((done) => this.#sftp!.write(handle, bytes, 0, bytes.length, position, done));
  }

  /** Durable, where the server can say so. */
  async close(handle: Buffer): Promise<void> {
    await this.#unlessUnknown((done) => this.#sftp!.ext_openssh_fsync(handle, done));
    await this.#done((done) => this.#sftp!.close(handle, done));
  }

  /** Takes the place of a file with the new name. */
  async rename(from: string, to: string): Promise<void> {
    if (await this.#unlessUnknown((done) => this.#sftp!.ext_openssh_rename(from, to, done))) return;
    // Others refuse to replace a file.
    await this.#done((done) => this.#sftp!.unlink(to, done)).catch((error: unknown) => {
      if (!isNoSuchFile(error)) throw error;
    });
    await this.#done((done) => this.#sftp!.rename(from, to, done));
  }

  [Symbol.dispose](): void {
    this.#signal.removeEventListener('abort', this.#abort);
    this.#ended ??= new Error('the session is over');
    this.#client.end();
    this.#client.destroy();
  }

  async #connect(destination: SftpDestination, sock: Parameters<SshClient['connect']>[0]['sock']) {
    const { username, password, privateKey, hostKeyFingerprint } = destination;
    const { stepMs } = this.#parts;
    const client = this.#client;
    // Some servers ask for the password in this way alone.
    client.on('keyboard-interactive', (_name, _text, _language, prompts: readonly Prompt[], answer) =>
      (answer as (answers: string[]) => void)(prompts.map(({ echo }) => (echo ? '' : (password ?? '')))),
    );
    await this.#done((done) => {
      client.once('ready', () => done(undefined));
      client.connect({
        sock,
        username,
        ...(password !== undefined && { password, tryKeyboard: true }),
        ...(privateKey !== undefined && { privateKey }),
        readyTimeout: stepMs,
        keepaliveInterval: KEEPALIVE_MS,
        hostVerifier: (key) => {
          const isKnown = fingerprintOf(key) === hostKeyFingerprint.replace(/=$/, '');
          if (!isKnown) this.#end(wrongHostKey());
          return isKnown;
        },
      });
    });
    this.#sftp = await this.#given<Sftp>((done) => client.sftp(done));
  }

  /** False: the server does not know this step. */
  async #unlessUnknown(begin: (done: Done) => void): Promise<boolean> {
    let isKnown = true;
    await this.#done((done) => {
      try {
        begin(done);
      } catch {
        isKnown = false;
        done(undefined);
      }
    });
    return isKnown;
  }

  #done(begin: (done: Done) => void): Promise<void> {
    return this.#given<void>((done) => begin((error) => done(error, undefined)));
  }

  #given<T>(begin: (done: Given<T>) => void): Promise<T> {
    if (this.#ended !== undefined) return Promise.reject(this.#ended);
    const { clock, stepMs } = this.#parts;
    return new Promise<T>((resolve, reject) => {
      const over = () => {
        this.#waiting.delete(failed);
        timer.cancel();
      };
      const failed = (error: Error) => {
        over();
        reject(error);
      };
      const timer = clock.after(stepMs, () =>
        this.#end(new DeliveryError('Timeout', `the server did not answer within ${stepMs} ms`)),
      );
      this.#waiting.add(failed);
      begin((error, value) => {
        if (error !== null && error !== undefined) return failed(this.#ended ?? faultOf(error));
        over();
        resolve(value);
      });
    });
  }

  /** The first end counts. */
  #end(error: Error): void {
    this.#ended ??= error;
    for (const failed of this.#waiting) failed(this.#ended);
    this.#client.destroy();
  }
}

export function fingerprintOf(key: Buffer): string {
  return `SHA256:${createHash('sha256').update(key).digest('base64').replace(/=+$/, '')}`;
}

function wrongHostKey(): DeliveryError {
  return new DeliveryError('HostKeyMismatch', 'the host key of the server is not the one that was given', {
    isFinal: true,
  });
}

function isNoSuchFile(error: unknown): boolean {
  const cause = error instanceof DeliveryError ? error.cause : undefined;
  return cause instanceof Error && 'code' in cause && cause.code === SFTP_STATUS.noSuchFile;
}

function faultOf(error: Error & { readonly level?: string; readonly code?: unknown }): Error {
  if (error instanceof DeliveryError) return error;
  if (error.level === 'client-authentication')
    return new DeliveryError('AuthenticationFailed', 'the server does not let the user in', {
      isFinal: true,
      cause: error,
    });
  if (error.level === 'client-timeout')
    return new DeliveryError('Timeout', 'the server did not answer in time', { cause: error });
  if (error.code === SFTP_STATUS.noSuchFile)
    return new DeliveryError('DestinationRefused', 'there is no such directory', { cause: error });
  if (error.code === SFTP_STATUS.permissionDenied)
    return new DeliveryError('DestinationRefused', 'the user must not write there', { cause: error });
  if (typeof error.code === 'number')
    return new DeliveryError('DestinationRefused', 'the server could not write the file', { cause: error });
  return new DeliveryError('Unreachable', 'the connection broke off', { cause: error });
}

function connectFault(error: OutboundError): DeliveryError {
  const { fault, message } = error;
  if (fault === 'NotAllowed')
    return new DeliveryError('NotAllowed', `the host ${message}`, { isFinal: true, cause: error });
  return new DeliveryError(fault === 'Timeout' ? 'Timeout' : 'Unreachable', message, { cause: error });
}
