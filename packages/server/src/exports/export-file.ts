// The file of an export while it is made: pieces in the frame of its format and its compression. Its bytes depend on the pieces alone.
// After some of them what was written is durable, and a crash goes on from there.

import { createHash, type Hash } from 'node:crypto';
import type { ExportCompression, ExportFormat, ExportId } from '@tallystick/contract';
import { type ContentPath, ResumableSha256, toHex } from '@tallystick/evidence';
import type { Clock } from '../runtime/clock.ts';
import type { ProvenUnder } from './evidence-lines.ts';
import type { ArchivedEntry, Checkpoint, ExportFiles, FileWriter, NextPlace } from './export-files.ts';
import { formatOf, FORMATS } from './formats/format.ts';
import { deflated, DEFLATE_END } from './packing/deflate.ts';
import { GZIP_BEGIN, gzipEnd } from './packing/gzip.ts';
import { entryBegin, entryEnd, zipEnd } from './packing/zip.ts';
import { added, type Before, behind, nothingBefore, type Piece } from './shaping.ts';

export interface FileFacts {
  readonly exportId: ExportId;
  readonly jobId: string;
  readonly runId: string;
  readonly key: Uint8Array;
  readonly format: ExportFormat;
  readonly contentColumns: readonly ContentPath[];
  readonly compression: ExportCompression;
  /** The checksum of each entry is taken, for a manifest. */
  readonly includeProofs: boolean;
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
  #before: Before;
  readonly #entries: ArchivedEntry[] = [];
  #entryAt = 0;
  #entryName: string;
  readonly #under: ProvenUnder | undefined;
  #savedNs: number;

  private constructor(
    facts: FileFacts,
    under: ProvenUnder | undefined,
    parts: FileParts,
    writer: FileWriter,
  ) {
    this.#facts = facts;
    this.#under = under;
    this.#before = nothingBefore(facts.includeProofs);
    this.#entryName = dataEntry(facts);
    this.#parts = parts;
    this.#writer = writer;
    this.#savedNs = parts.clock.monotonicNs();
  }

  /** A new one. What events are proven under is remembered with it. */
  static async begin(
    facts: FileFacts,
    under: ProvenUnder | undefined,
    parts: FileParts,
  ): Promise<ExportFile> {
    await parts.files.clean(facts.exportId);
    const file = new ExportFile(facts, under, parts, await parts.files.create(facts));
    await file.#begin();
    if (under !== undefined) await file.save(undefined);
    return file;
  }

  /** It goes on from a checkpoint; throws AlteredFile where that is not there any more. */
  static async resume(facts: FileFacts, checkpoint: Checkpoint, parts: FileParts): Promise<ExportFile> {
    const { exportId, runId, key } = facts;
    const { under, entries, entryAt, next, bytes, runId: oldRunId } = checkpoint;
    await parts.files.clean(exportId, oldRunId);
    const file = new ExportFile(facts, under, parts, await parts.files.create(facts));
    const old = parts.files.readPart({ exportId, key, runId: oldRunId }, bytes);
    for await (const chunk of old) await file.#write(chunk);
    const { events, packed, hash, withheld } = checkpoint;
    file.#before = { events, packed, hash, withheld };
    file.#entries.push(...entries);
    file.#entryAt = entryAt;
    if (entries.length > 0) file.#entryName = EVIDENCE_ENTRY;
    await file.save(next);
    await parts.files.clean(exportId, runId);
    return file;
  }

  get before(): Before {
    return this.#before;
  }

  /** Of an archive: those that are complete. */
  get entries(): readonly ArchivedEntry[] {
    return this.#entries;
  }

  /** SHA-256 of a complete entry, in hex. */
  hashOf(name: string): string | undefined {
    const entry = this.#entries.find((each) => each.name === name);
    return entry?.hash && toHex(new ResumableSha256(entry.hash).digest());
  }

  /** Whether this entry of an archive is being written. */
  isOf(name: string): boolean {
    return this.#entryName === name;
  }

  get under(): ProvenUnder | undefined {
    return this.#under;
  }

  async add(piece: Piece): Promise<void> {
    await this.#write(piece.bytes);
    this.#before = behind(this.#before, piece);
  }

  /** A text that is no piece: what an entry begins and ends with. */
  async addText(raw: Uint8Array): Promise<void> {
    const bytes = this.#facts.compression === 'None' ? raw : await deflated(raw);
    await this.add({ bytes, ...added(this.#before, raw) });
  }

  /** The data is complete. */
  async endData(): Promise<void> {
    await this.addText(Buffer.from(FORMATS[this.#facts.format].end));
    if (this.#facts.compression === 'Zip') await this.endEntry();
  }

  /** Of an archive. */
  async beginEntry(name: string): Promise<void> {
    this.#entryName = name;
    this.#before = nothingBefore(this.#facts.includeProofs);
    await this.#write(entryBegin(name));
  }

  async endEntry(): Promise<void> {
    await this.#write(DEFLATE_END);
    const [name, offset] = [this.#entryName, this.#entryAt];
    const packedBytes = this.#bytes - offset - entryBegin(name).length;
    const entry = { name, offset, packedBytes, ...this.#before, ...this.#before.packed };
    await this.#write(entryEnd(entry));
    this.#entries.push(entry);
    this.#entryAt = this.#bytes;
  }

  /** If the last time was long ago. */
  async saveSometimes(next: NextPlace): Promise<void> {
    if (this.#parts.clock.monotonicNs() - this.#savedNs >= SAVED_EVERY_NS) await this.save(next);
  }

  async save(next: NextPlace | undefined): Promise<void> {
    await this.#writer.sync();
    const { exportId, jobId, runId } = this.#facts;
    const at = { jobId, runId, bytes: this.#bytes, next, under: this.#under };
    const archive = { entries: this.#entries, entryAt: this.#entryAt };
    await this.#parts.files.save(exportId, { ...this.#before, ...at, ...archive });
    this.#savedNs = this.#parts.clock.monotonicNs();
  }

  /** The whole file is durable, and complete. */
  async finish(): Promise<FinishedFile> {
    const { compression, exportId, runId } = this.#facts;
    if (compression === 'Gzip') await this.#write(gzipEnd(this.#before.packed));
    if (compression === 'Zip') await this.#write(zipEnd(this.#entries, this.#bytes));
    await this.#writer.sync();
    await this.#parts.files.finish(exportId, runId);
    return { fileSize: this.#bytes, checksum: this.#hash.digest('hex') };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#writer[Symbol.asyncDispose]();
  }

  async #begin(): Promise<void> {
    const { format, contentColumns, compression } = this.#facts;
    if (compression === 'Gzip') await this.#write(GZIP_BEGIN);
    if (compression === 'Zip') await this.#write(entryBegin(this.#entryName));
    await this.addText(Buffer.from(formatOf(format, contentColumns).begin));
  }

  async #write(bytes: Uint8Array): Promise<void> {
    if (bytes.length === 0) return;
    await this.#writer.write(bytes);
    this.#hash.update(bytes);
    this.#bytes += bytes.length;
  }
}

/** The bundle, in an archive with proofs. */
export const EVIDENCE_ENTRY = 'evidence.jsonl';

export function dataEntry({ format }: Pick<FileFacts, 'format'>): string {
  return `events.${FORMATS[format].extension}`;
}
