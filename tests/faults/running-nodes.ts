// Several services on one PostgreSQL database, each in a process of its own, to be killed and started again by name.

import { type Service, startService } from './running.ts';

/** Nodes with names of their own, on one data directory: they share the keys and the place of the anchor. */
export class Nodes implements AsyncDisposable {
  readonly #env: Readonly<Record<string, string>>;
  readonly #dataDirectory: string;
  readonly #running = new Map<string, Service>();

  constructor(url: string, dataDirectory: string) {
    this.#dataDirectory = dataDirectory;
    // So that kills fall upon boundaries of streams too.
    this.#env = { Storage__Url: url, Streams__SealAfterEvents: '50', Log__CheckpointInterval: 'PT0.2S' };
  }

  get urls(): string[] {
    return this.running.map(({ url }) => url);
  }

  get running(): Service[] {
    return [...this.#running.values()];
  }

  async start(name: string): Promise<Service> {
    const env = { ...this.#env, Node__Name: name };
    const service = await startService({ dataDirectory: this.#dataDirectory, env });
    this.#running.set(name, service);
    return service;
  }

  async kill(name: string): Promise<void> {
    const service = this.#running.get(name);
    this.#running.delete(name);
    await service?.[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const name of this.#running.keys()) await this.kill(name);
  }
}
