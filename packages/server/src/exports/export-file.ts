// The file of an export while it is made: pieces in the frame of its format and its compression. Its bytes depend on the pieces alone.
// After some of them what was written is durable, and a crash goes on from there.

import { createHash, type Hash } from 'node:crypto';
import type { ExportCompression, ExportFormat, ExportId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import type { Checkpoint, ExportFiles, FileWriter, NextPlace } from './export-files.ts';
import { FORMATS } from './formats/format.ts';
import { deflated, DEFLATE_END, NOTHING_PACKED, type Packed, packedWith } from './packing/deflate.ts';
import { GZIP_BEGIN, gzipEnd } from './packing/gzip.ts';
import { entryBegin, entryEnd, type ZipEntry, zipEnd } from './packing/zip.ts';
import type { Before, Piece } from './shaping.ts';

export interface FileFacts {
  readonly exportId: ExportId;
  readonly jobId: string;
  readonly runId: string;
  readonly key: Uint8Array;
  readonly format: ExportFormat;
  readonly compression: ExportCompression;
}

export interface FileParts {
  readonly files: ExportFiles;
  readonly clock: Pick<Clock, 'monotonicNs'>;
}

export interface FinishedFile {
  readonly fileSize: number;
  readonly checksum: string;
}

/** A crash costs so much work at most. */
const SAVED_EVERY_NS = 500e6;

export class ExportFile implements AsyncDisposable {
  readonly #facts: FileFacts;
  readonly #parts: FileParts;
  readonly #writer: FileWriter;
  readonly #hash: Hash = createHash('sha256');
  #bytes = 0;
  #before: Before = { events: 0, packed: NOTHING_PACKED };
  readonly #entries: ZipEntry[] = [];
  #entryAt = 0;
  #savedNs: number;

  private constructor(facts: FileFacts, parts: FileParts, writer: FileWriter) {
    this.#facts = facts;
    this.#parts = parts;
    this.#writer = writer;
    this.#savedNs = parts.clock.monotonicNs();
  }

  /** A new one. */
  static async begin(facts: FileFacts, parts: FileParts): Promise<ExportFile> {
    await parts.files.clean(facts.exportId);
    const file = new ExportFile(facts, parts, await parts.files.create(facts));
    await file.#begin();
    return file;
  }

  /** It goes on from a checkpoint; throws AlteredFile where that is not there any more. */
  static async resume(facts: FileFacts, checkpoint: Checkpoint, parts: FileParts): Promise<ExportFile> {
    const { exportId, runId, key } = facts;
    await parts.files.clean(exportId, checkpoint.runId);
    const file = new ExportFile(facts, parts, await parts.files.create(facts));
    const old = parts.files.readPart({ exportId, key, runId: checkpoint.runId }, checkpoint.bytes);
    for await (const chunk of old) await file.#write(chunk);
    file.#before = { events: checkpoint.events, packed: checkpoint.packed };
    file.#entries.push(...checkpoint.entries);
    file.#entryAt = checkpoint.entryAt;
    await file.save(checkpoint.next);
    await parts.files.clean(exportId, runId);
    return file;
  }

  get before(): Before {
    return this.#before;
  }

  async add({ bytes, packed, events }: Piece): Promise<void> {
    await this.#write(bytes);
    this.#before = { events: this.#before.events + events, packed };
  }

  /** If the last time was long ago. */
  async saveSometimes(next: NextPlace): Promise<void> {
    if (this.#parts.clock.monotonicNs() - this.#savedNs >= SAVED_EVERY_NS) await this.save(next);
  }

  async save(next: NextPlace): Promise<void> {
    await this.#writer.sync();
    const { exportId, jobId, runId } = this.#facts;
    const at = { jobId, runId, bytes: this.#bytes, next, entries: this.#entries, entryAt: this.#entryAt };
    await this.#parts.files.save(exportId, { ...this.#before, ...at });
    this.#savedNs = this.#parts.clock.monotonicNs();
  }

  /** The whole file is durable, and complete. */
  async finish(): Promise<FinishedFile> {
    const { format, compression, exportId, runId } = this.#facts;
    await this.#pack(FORMATS[format].end);
    const { packed } = this.#before;
    if (compression === 'Gzip') await this.#write(gzipEnd(packed));
    if (compression === 'Zip') {
      await this.#endEntry(`events.${FORMATS[format].extension}`, packed);
      await this.#write(zipEnd(this.#entries, this.#bytes));
    }
    await this.#writer.sync();
    await this.#parts.files.finish(exportId, runId);
    return { fileSize: this.#bytes, checksum: this.#hash.digest('hex') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer[Symbol.asyncDispose]();
  }

  async #begin(): Promise<void> {
    const { format, compression } = this.#facts;
    if (compression === 'Gzip') await this.#write(GZIP_BEGIN);
    if (compression === 'Zip') await this.#write(entryBegin(`events.${FORMATS[format].extension}`));
    await this.#pack(FORMATS[format].begin);
  }

  async #endEntry(name: string, packed: Packed): Promise<void> {
    await this.#write(DEFLATE_END);
    const offset = this.#entryAt;
    const packedBytes = this.#bytes - offset - entryBegin(name).length;
    const entry: ZipEntry = { name, offset, packedBytes, ...packed };
    await this.#write(entryEnd(entry));
    this.#entries.push(entry);
    this.#entryAt = this.#bytes;
  }

  async #pack(text: string): Promise<void> {
    const raw = Buffer.from(text);
    await this.#write(this.#facts.compression === 'None' ? raw : await deflated(raw));
    this.#before = { ...this.#before, packed: packedWith(this.#before.packed, raw) };
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    await this.#writer.write(bytes);
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
  }
}
