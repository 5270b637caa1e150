// COPY over a connection of the driver, which has no word for it but lets others speak its protocol.

import type { Client, Connection } from 'pg';

/** What the driver asks of something that it is to send. Types of the package do not know the parts that COPY takes. */
abstract class Copy {
  readonly text: string;
  readonly #done = Promise.withResolvers<void>();
  /** The driver calls it where it cannot even begin. */
  readonly callback = (error?: Error) => error && this.#done.reject(error);

  constructor(text: string) {
    this.text = text;
  }

  get done(): Promise<void> {
    return this.#done.promise;
  }

  submit(connection: Connection): void {
    connection.query(this.text);
  }

  handleCommandComplete(): void {}

  handleReadyForQuery(): void {
    this.#done.resolve();
  }

  handleError(error: Error): void {
    this.#done.reject(error);
  }
}

class CopyIn extends Copy {
  readonly #bytes: Buffer;

  constructor(text: string, bytes: Buffer) {
    super(text);
    this.#bytes = bytes;
  }

  handleCopyInResponse(connection: CopyConnection): void {
    connection.sendCopyFromChunk(this.#bytes);
    connection.endCopyFrom();
  }
}

class CopyOut extends Copy {
  readonly chunks: Buffer[] = [];

  handleCopyData({ chunk }: { chunk: Buffer }): void {
    // The driver uses the room again.
    this.chunks.push(Buffer.from(chunk));
  }
}

interface CopyConnection {
  sendCopyFromChunk(bytes: Buffer): void;
  endCopyFrom(): void;
}

/** The bytes are those of the format that the statement names. */
export async function copyIn(client: Client, text: string, bytes: Buffer): Promise<void> {
  await client.query(new CopyIn(text, bytes)).done;
}

export async function copyOut(client: Client, text: string): Promise<Buffer> {
  const copy = client.query(new CopyOut(text));
  await copy.done;
  return Buffer.concat(copy.chunks);
}
