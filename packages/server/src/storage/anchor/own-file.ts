// The file that this process appends to. An append is one write and one fsync for all heads, and counts only if the file is
// still the one at its path. What a crash cut short is cut away when the file is opened; any other damage is refused. A file
// that has grown far beyond what its newest heads need is replaced by one that holds only those. Calls must not overlap.

import { type FileHandle, open, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartError } from '../../start-error.ts';
import type { AnchoredHead, AnchorHistory } from '../../streams/anchor/anchor.ts';
import { addFile, replaceFile, syncFolder } from '../whole-file.ts';
import { ANCHOR_FILE, anchorTrouble, undefinedIfMissing } from './files.ts';
import { type AnchorContent, FIRST_LINE, formatAnchor, formatRecord, readAnchor } from './format.ts';

const COMPACT_ABOVE_BYTES = 16 * 1024 * 1024;
const COMPACT_ABOVE_TIMES = 4;

/**
 * `place` is the file, or a directory in which it is called `anchor`. A file that is not there is made, empty; the
 * directory must be there, because one that is missing is most likely a disk that is not mounted. Throws StartError.
 */
export async function openOwnAnchorFile(place: string): Promise<OwnAnchorFile> {
  let path = place;
  try {
    const isFolder = (await stat(place).catch(() => undefined))?.isDirectory() ?? place.endsWith('/');
    if (isFolder) path = join(place, ANCHOR_FILE);
    await requireFile(path);
    const target = await realpath(path);
    const file = await open(target, 'r+');
    try {
      const bytes = await file.readFile();
      const content = readAnchor(bytes);
      const own = new OwnAnchorFile({ path, target, file }, content);
      await own.secureTail(bytes.subarray(content.lastAt, content.bytes));
      return own;
    } catch (error) {
      await file.close();
      throw error;
    }
  } catch (error) {
    throw new StartError(anchorTrouble(path, error), { cause: error });
  }
}

async function requireFile(path: string): Promise<void> {
  let found = await stat(path).catch(undefinedIfMissing);
  if (found === undefined) {
    await addFile(path, FIRST_LINE);
    found = await stat(path);
  }
  // A read of a device or a pipe may never end.
  if (!found.isFile()) throw new Error('it is no file');
}

export class OwnAnchorFile implements AsyncDisposable {
  /** As it was named; the file itself may be elsewhere, behind a link. */
  readonly path: string;
  readonly #target: string;
  readonly #heads: Map<string, AnchoredHead>;
  #file: FileHandle;
  /** Up to the end of the last whole record. */
  #bytes: number;
  #closing: string;
  /** Bytes behind the last whole record that may be those of an append that failed. */
  #doubtfulBytes = 0;
  /** The file at the path may be the compacted one, which holds the same heads. */
  #isReplaced = false;
  #compactAboveBytes = 0;

  constructor(
    { path, target, file }: { path: string; target: string; file: FileHandle },
    { heads, bytes, closing }: AnchorContent,
  ) {
    this.path = path;
    this.#target = target;
    this.#file = file;
    this.#heads = new Map(heads);
    this.#bytes = bytes;
    this.#closing = closing;
  }

  get heads(): ReadonlyMap<string, AnchoredHead> {
    return this.#heads;
  }

  /** Read anew: most starts do without, and need not keep it in memory. */
  async history(): Promise<AnchorHistory> {
    return readAnchor(await readFile(this.#target)).history;
  }

  /**
   * Bytes behind the last whole record are of an append that was never answered. That record itself may be one whose
   * fsync failed: then it can be read, is on no disk, and would be missing under the next one unless written again.
   */
  async secureTail(lastRecord: Buffer): Promise<void> {
    await writeAt(this.#file, lastRecord, this.#bytes - lastRecord.length);
    await this.#cut();
    await this.#compactIfLarge();
  }

  /** The heads must be larger than those of their origins before. After a failure the next append first puts the file in order. */
  async append(heads: readonly AnchoredHead[]): Promise<void> {
    if (heads.length === 0) return;
    await this.#settle();
    await this.#requireInPlace();
    const record = formatRecord(heads, this.#closing);
    const data = Buffer.from(record.text, 'latin1');
    this.#doubtfulBytes = data.length;
    await writeAt(this.#file, data, this.#bytes);
    await this.#file.sync();
    await this.#requireInPlace();
    this.#doubtfulBytes = 0;
    for (const head of heads) this.#heads.set(head.origin, head);
    this.#bytes += data.length;
    this.#closing = record.closing;
    await this.#compactIfLarge();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#file.close();
  }

  /** A write or an fsync that failed may have left anything, and what it left may be in memory only. */
  async #settle(): Promise<void> {
    if (this.#isReplaced) await this.#reopen();
    if (this.#doubtfulBytes === 0) return;
    const { size } = await this.#file.stat();
    if (size < this.#bytes || size > this.#bytes + this.#doubtfulBytes) throw this.#changedByOthers();
    await this.#cut();
    this.#doubtfulBytes = 0;
  }

  async #cut(): Promise<void> {
    await this.#file.truncate(this.#bytes);
    await this.#file.sync();
    await syncFolder(dirname(this.#target));
  }

  /** A head that went into a file that was deleted, moved or replaced meanwhile is not anchored: nobody finds it. */
  async #requireInPlace(): Promise<void> {
    const [ours, found] = await Promise.all([
      this.#file.stat({ bigint: true }),
      stat(this.#target, { bigint: true }).catch(undefinedIfMissing),
    ]);
    if (found === undefined || found.ino !== ours.ino || found.dev !== ours.dev) {
      throw new Error(
        `the anchor ${this.path} is no longer the file that was opened; put that one back, or restart`,
      );
    }
    if (ours.size !== BigInt(this.#bytes + this.#doubtfulBytes)) throw this.#changedByOthers();
  }

  #changedByOthers(): Error {
    return new Error(`the anchor ${this.path} was changed by another process; restart to read it anew`);
  }

  async #compactIfLarge(): Promise<void> {
    if (this.#bytes <= this.#compactAboveBytes) return;
    const compact = formatAnchor([...this.#heads.values()]);
    this.#compactAboveBytes = Math.max(COMPACT_ABOVE_BYTES, COMPACT_ABOVE_TIMES * compact.length);
    if (this.#bytes <= this.#compactAboveBytes) return;
    this.#isReplaced = true;
    try {
      await replaceFile(this.#target, compact);
      await this.#reopen();
    } catch {
      // Everything is anchored nevertheless. A fault that lasts shows at the next append, which settles this first;
      // and where only the folder cannot be written to, the file just grows.
      this.#compactAboveBytes = 2 * this.#bytes;
    }
  }

  async #reopen(): Promise<void> {
    const file = await open(this.#target, 'r+');
    const before = this.#file;
    try {
      const { heads, bytes, closing } = readAnchor(await file.readFile());
      if (formatAnchor([...heads.values()]) !== formatAnchor([...this.#heads.values()]))
        throw this.#changedByOthers();
      await file.sync();
      await syncFolder(dirname(this.#target));
      [this.#bytes, this.#closing] = [bytes, closing];
    } catch (error) {
      await file.close();
      throw error;
    }
    this.#file = file;
    this.#isReplaced = false;
    await before.close();
  }
}

/** A disk that is almost full takes a part. */
async function writeAt(file: FileHandle, data: Buffer, position: number): Promise<void> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await file.write(data, done, data.length - done, position + done);
    done += bytesWritten;
  }
}
