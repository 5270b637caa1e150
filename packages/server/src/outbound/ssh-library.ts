// The part of the library ssh2 that we use. It is loaded when the first file is sent by SFTP, and only then.

import type { EventEmitter } from 'node:events';
import type { Socket } from 'node:net';

export type Done = (error: Error | null | undefined) => void;
export type Given<T> = (error: Error | null | undefined, value: T) => void;

export interface Prompt {
  readonly prompt: string;
  readonly echo: boolean;
}

export interface SshOptions {
  readonly sock: Socket;
  readonly username: string;
  readonly password?: string;
  readonly privateKey?: string;
  readonly tryKeyboard?: boolean;
  readonly readyTimeout: number;
  readonly keepaliveInterval: number;
  readonly hostVerifier: (key: Buffer) => boolean;
}

export interface SshClient extends EventEmitter {
  connect(options: SshOptions): void;
  sftp(done: Given<Sftp>): void;
  end(): void;
  destroy(): void;
}

export interface Sftp extends EventEmitter {
  open(path: string, flags: 'w' | 'r+', done: Given<Buffer>): void;
  write(handle: Buffer, bytes: Buffer, from: number, length: number, position: number, done: Done): void;
  close(handle: Buffer, done: Done): void;
  stat(path: string, done: Given<{ readonly size: number }>): void;
  unlink(path: string, done: Done): void;
  rename(from: string, to: string, done: Done): void;
  /** These two throw where the server does not know them. */
  ext_openssh_rename(from: string, to: string, done: Done): void;
  ext_openssh_fsync(handle: Buffer, done: Done): void;
}

export interface SshLibrary {
  readonly Client: new () => SshClient;
  readonly utils: { parseKey(text: string): object | Error };
}

/** By SFTP, the codes of refusals that we know. */
export const SFTP_STATUS = { noSuchFile: 2, permissionDenied: 3 } as const;

export async function loadSsh(): Promise<SshLibrary> {
  // Not a literal: it brings no types.
  const name: string = 'ssh2';
  return ((await import(name)) as { readonly default: SshLibrary }).default;
}
