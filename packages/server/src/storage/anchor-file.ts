// The anchor as one append-only file (its form: anchor-form.ts), by default `anchor` in the data directory. An append
// is one write and one fsync for all heads, and counts only if the file is still the one at its path. What a crash cut
// short is cut away when the file is opened; any other damage is refused. A file that was grown far beyond what its
// newest heads need is replaced by one that holds only those. One process at a time uses it; where several nodes anchor,
// each has such a file (anchor-nodes.ts).

import { type FileHandle, open, readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { StartError } from '../start-error.ts';
import type { Anchor, AnchoredHead, AnchorHistory } from '../streams/anchor.ts';
import {
  type AnchorContent,
  AnchorDamage,
  FIRST_LINE,
  formatAnchor,
  formatRecord,
  headLine,
  readAnchor,
  readAnchorHistory,
} from './anchor-form.ts';
import { addFile, codeOf, replaceFile, syncFolder } from './whole-file.ts';

export const ANCHOR_FILE = 'anchor';
const COMPACT_ABOVE_BYTES = 16 * 1024 * 1024;
const COMPACT_ABOVE_TIMES = 4;
const NO_FORKS: ReadonlyMap<string, string> = new Map();

/**
 * `place` is the file, or a directory in which it is called `anchor`. A file that is not there is made, empty; the
 * directory must be there, because one that is missing is most likely a disk that is not mounted. Throws StartError.
 */
export async function openAnchorFile(place: string): Promise<Anchor> {
  let path = place;
  try {
    path = await pathOf(place);
    const file = await open(path, 'r+');
    try {
      const bytes = await file.readFile();
      const anchor = new AnchorFile(path, file, readAnchor(bytes));
      await anchor.secureTail(bytes);
      return anchor;
    } catch (error) {
      await file.close();
      throw error;
    }
  } catch (error) {
    if (error instanceof StartError) throw error;
    throw new StartError(anchorTrouble(path, error), { cause: error });
  }
}

/** What to do with an anchor that is damaged. */
export const DAMAGED_HELP =
  'put back an undamaged copy that is no older; if there is none, move the file away and run `tallystick recover --accept-lost-anchor`';

/** Why an anchor cannot be used, and what to do, for people. */
export function anchorTrouble(place: string, cause: unknown): string {
  const why =
    cause instanceof AnchorDamage ? `${cause.message}; ${DAMAGED_HELP}` : `${codeOf(cause)}; see Log__Anchor`;
  return `cannot use the anchor ${place}: ${why}`;
}

async function pathOf(place: string): Promise<string> {
  const isFolder = (await stat(place).catch(() => undefined))?.isDirectory() ?? place.endsWith('/');
  const path = isFolder ? join(place, ANCHOR_FILE) : place;
  let found = await stat(path).catch(undefinedIfMissing);
  if (found === undefined) {
    await addFile(path, FIRST_LINE);
    found = await stat(path);
  }
  // Reading what is no file may never end.
  if (!found.isFile()) throw new StartError(`cannot use the anchor ${path}: it is no file; see Log__Anchor`);
  return realpath(path);
}

function undefinedIfMissing(error: unknown): undefined {
  if (codeOf(error) !== 'ENOENT') throw error;
}

class AnchorFile implements Anchor {
  readonly #path: string;
  #file: FileHandle;
  #content: AnchorContent;
  /** How many bytes behind the last whole record may be those of an append that failed. */
  #doubtfulBytes = 0;
  /** The file at the path may be the compacted one, which holds the same heads. */
  #isReplaced = false;
  #compactAboveBytes = 0;
  #last: Promise<unknown> = Promise.resolve();

  constructor(path: string, file: FileHandle, content: AnchorContent) {
    this.#path = path;
    this.#file = file;
    this.#content = content;
  }

  get isNew(): boolean {
    return this.#content.heads.size === 0;
  }

  heads(): ReadonlyMap<string, AnchoredHead> {
    return this.#content.heads;
  }

  /** It is written by one alone, who does not go back. */
  forks(): ReadonlyMap<string, string> {
    return NO_FORKS;
  }

  /** Read anew: most starts do without, and need not keep it in memory. */
  async history(): Promise<AnchorHistory> {
    return readAnchorHistory(await readFile(this.#path));
  }

  async refresh(): Promise<void> {}

  append(heads: readonly AnchoredHead[]): Promise<void> {
    const appended = this.#last.then(() => this.#append(heads));
    this.#last = appended.catch(() => undefined);
    return appended;
  }

  /**
   * What is behind the last whole record is of an append that was never answered. That record itself may be one whose
   * fsync failed: then it can be read, is on no disk, and would be missing under the next one unless written again.
   */
  async secureTail(bytes: Buffer): Promise<void> {
    const { lastAt, bytes: endAt } = this.#content;
    await writeAt(this.#file, bytes.subarray(lastAt, endAt), lastAt);
    await this.#cut();
    await this.#compactIfLarge();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.#file.close();
  }

  async #append(wanted: readonly AnchoredHead[]): Promise<void> {
    const heads = newHeads(this.#content.heads, wanted);
    if (heads.length === 0) return;
    await this.#settle();
    const { heads: known, bytes, closing } = this.#content;
    await this.#requireInPlace(bytes);
    const record = formatRecord(heads, closing);
    const data = Buffer.from(record.text, 'latin1');
    this.#doubtfulBytes = data.length;
    await writeAt(this.#file, data, bytes);
    await this.#file.sync();
    await this.#requireInPlace(bytes + data.length);
    this.#doubtfulBytes = 0;
    for (const head of heads) known.set(head.origin, head);
    this.#content = {
      heads: known,
      lastAt: bytes,
      bytes: bytes + data.length,
      closing: record.closing,
    };
    await this.#compactIfLarge();
  }

  /** A write or an fsync that failed may have left anything, and what it left may be in memory only. */
  async #settle(): Promise<void> {
    if (this.#isReplaced) await this.#reopen();
    if (this.#doubtfulBytes === 0) return;
    const { size } = await this.#file.stat();
    if (size < this.#content.bytes || size > this.#content.bytes + this.#doubtfulBytes)
      throw this.#changedByOthers();
    await this.#cut();
    this.#doubtfulBytes = 0;
  }

  async #cut(): Promise<void> {
    await this.#file.truncate(this.#content.bytes);
    await this.#file.sync();
    await syncFolder(dirname(this.#path));
  }

  /** Anchored is what others find: not what went into a file that was deleted, moved or replaced meanwhile. */
  async #requireInPlace(bytes: number): Promise<void> {
    const [ours, found] = await Promise.all([
      this.#file.stat({ bigint: true }),
      stat(this.#path, { bigint: true }).catch(undefinedIfMissing),
    ]);
    if (found === undefined || found.ino !== ours.ino || found.dev !== ours.dev) {
      throw new Error(
        `the anchor ${this.#path} is no longer the file that was opened; put that one back, or restart`,
      );
    }
    if (ours.size !== BigInt(bytes)) throw this.#changedByOthers();
  }

  #changedByOthers(): Error {
    return new Error(`the anchor ${this.#path} was changed by another process; restart to read it anew`);
  }

  async #compactIfLarge(): Promise<void> {
    if (this.#content.bytes <= this.#compactAboveBytes) return;
    const compact = formatAnchor([...this.#content.heads.values()]);
    this.#compactAboveBytes = Math.max(COMPACT_ABOVE_BYTES, COMPACT_ABOVE_TIMES * compact.length);
    if (this.#content.bytes <= this.#compactAboveBytes) return;
    this.#isReplaced = true;
    try {
      await replaceFile(this.#path, compact);
      await this.#reopen();
    } catch {
      // Everything is anchored nevertheless. A fault that lasts shows at the next append, which settles this first;
      // and where only the folder cannot be written to, the file just grows.
      this.#compactAboveBytes = 2 * this.#content.bytes;
    }
  }

  async #reopen(): Promise<void> {
    const file = await open(this.#path, 'r+');
    const before = this.#file;
    try {
      const content = readAnchor(await file.readFile());
      if (!isSame(content.heads, this.#content.heads)) throw this.#changedByOthers();
      await file.sync();
      await syncFolder(dirname(this.#path));
      this.#content = { ...content, heads: this.#content.heads };
    } catch (error) {
      await file.close();
      throw error;
    }
    this.#file = file;
    this.#isReplaced = false;
    await before.close();
  }
}

/** Those that are not anchored yet, as copies; throws if one of them contradicts what is. */
function newHeads(known: ReadonlyMap<string, AnchoredHead>, wanted: readonly AnchoredHead[]): AnchoredHead[] {
  const newest = new Map<string, AnchoredHead>();
  const heads: AnchoredHead[] = [];
  for (const { origin, size, root } of wanted) {
    const head = { origin, size, root: root.slice() };
    const before = newest.get(origin) ?? known.get(origin);
    if (before?.size === size) {
      if (headLine(before) === headLine(head)) continue;
      throw new Error(`${origin} is anchored at size ${size} with another root: this would be a fork`);
    }
    if (before !== undefined && before.size > size) {
      throw new Error(`${origin} is anchored at size ${before.size}, and cannot go back to ${size}`);
    }
    newest.set(origin, head);
    heads.push(head);
  }
  return heads;
}

/** A disk that is almost full takes a part. */
async function writeAt(file: FileHandle, data: Buffer, position: number): Promise<void> {
  for (let done = 0; done < data.length; ) {
    const { bytesWritten } = await file.write(data, done, data.length - done, position + done);
    done += bytesWritten;
  }
}

function isSame(one: ReadonlyMap<string, AnchoredHead>, other: ReadonlyMap<string, AnchoredHead>): boolean {
  return one.size === other.size && formatAnchor([...one.values()]) === formatAnchor([...other.values()]);
}
