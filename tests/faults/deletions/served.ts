// The service of a world of deletions: it is killed, stopped and started again, its store is copied and put back, and the command
// works beside it.

import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import type { Backend, StoreCopy } from '../backends.ts';
import { type Ask, Client, type Reply } from '../client.ts';
import { COMMAND, KEY, type Service, startService } from '../running.ts';

const run = promisify(execFile);

const SETTINGS = {
  Encryption__Classifications: 'Confidential,Secret',
  Retention__SweepInterval: 'PT1S',
  Log__CheckpointInterval: 'PT0.1S',
};

const ATTEMPTS_MAX = 5;

export interface ServedOptions {
  /** In place of the command `serve`, with what it needs. */
  readonly script?: string | undefined;
  readonly env?: Readonly<Record<string, string>> | undefined;
}

export class Served implements AsyncDisposable {
  readonly #backend: Backend;
  readonly #options: ServedOptions;
  #service: Service | undefined;
  #client: Client | undefined;

  constructor(backend: Backend, options: ServedOptions = {}) {
    this.#backend = backend;
    this.#options = options;
  }

  async start(): Promise<void> {
    await this.#backend.endLeases?.();
    const { script, env } = this.#options;
    const { start } = this.#backend;
    this.#service = await startService({
      ...start,
      env: { ...start.env, ...SETTINGS, ...env },
      ...(script !== undefined && { script }),
    });
    this.#client = new Client(this.#service.url, 8);
  }

  async end(signal: NodeJS.Signals): Promise<void> {
    this.#client![Symbol.dispose]();
    this.#service!.kill(signal);
    await this.#service!.ended;
    await this.#backend.untilAlone?.();
  }

  ask(ask: Ask): Promise<Reply> {
    return this.#client!.ask(ask);
  }

  async done<T = Record<string, unknown>>(status: number, ask: Ask): Promise<T> {
    const reply = await this.ask(ask);
    assert.equal(reply.status, status, `${ask.path}: ${JSON.stringify(reply.body)}`);
    return reply.body as T;
  }

  async text(path: string): Promise<string> {
    const headers = { 'X-API-Key': KEY, 'X-Tenant-Id': 'acme' };
    const answer = await fetch(`${this.#service!.url}/api/v1${path}`, { headers });
    assert.equal(answer.status, 200, path);
    return answer.text();
  }

  /** Fails unless it exits with 0; again, as its message asks for, where the service is changing the keyring. */
  async command(...args: readonly string[]): Promise<string> {
    const { dataDirectory, env } = this.#backend.start;
    const settings = { Storage__DataDirectory: dataDirectory, Environment: 'Test', ...env, ...SETTINGS };
    for (let attempt = 1; ; attempt++)
      try {
        const { stdout } = await run(process.execPath, ['--conditions=source', COMMAND, ...args], {
          env: { ...process.env, ...settings },
        });
        return stdout;
      } catch (error) {
        const { stdout, stderr } = error as { readonly stdout: string; readonly stderr: string };
        const isInTheWay = stderr.includes('is being changed by another process');
        assert.ok(isInTheWay && attempt < ATTEMPTS_MAX, `${args.join(' ')}: ${stdout}${stderr}`);
      }
  }

  async verify(): Promise<void> {
    assert.match(await this.command('verify', this.#backend.start.dataDirectory), /^verified/m);
  }

  /** With the service stopped meanwhile. */
  async copy(): Promise<StoreCopy> {
    await this.end('SIGTERM');
    const copy = await this.#backend.copy();
    await this.start();
    return copy;
  }

  /** Logs of which more was signed go on under new names. */
  async putBack(copy: StoreCopy): Promise<void> {
    await this.end('SIGTERM');
    await copy.putBack();
    await this.command('recover', '--new-epoch', '--yes');
    await this.start();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#client?.[Symbol.dispose]();
    await this.#service?.[Symbol.asyncDispose]();
  }
}
