// The files of other nodes in the directory of the anchor, which are only read: as a whole at first, and from then on what
// has come behind. Whoever owns one may be writing it at the same moment, or replace it by a smaller one: a record that is
// not whole yet is read the next time.

import { constants } from 'node:fs';
import { type FileHandle, open, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { AnchoredHead } from '../streams/anchor.ts';
import { anchorTrouble } from './anchor-file.ts';
import { type AnchorAddition, AnchorDamage, readAnchorFrom } from './anchor-form.ts';
import {
  type AnchorFork,
  type FileHeads,
  type FileHistory,
  findForks,
  isAnchorFile,
} from './anchor-merge.ts';
import { codeOf } from './whole-file.ts';

/** By which it is told whether a file has changed. */
interface FileState {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

interface NewContent extends AnchorAddition {
  readonly state: FileState;
}

interface OtherFile extends Pick<AnchorAddition, 'bytes' | 'closing'> {
  readonly state: FileState;
  readonly heads: Map<string, AnchoredHead>;
}

/** Its owner may cut and write while it is read: what is still damaged then is so. */
const ATTEMPTS = 3;

export class OtherAnchorFiles {
  readonly #directory: string;
  readonly #ownName: string;
  readonly #files = new Map<string, OtherFile>();

  constructor(directory: string, ownName: string) {
    this.#directory = directory;
    this.#ownName = ownName;
  }

  /**
   * What they have that they had not when this was last asked, and how that forks from the rest, from what this node has, or
   * from what of its own it has not told before.
   * A file that is gone, or was put back to an earlier state, takes nothing away. Where a file cannot be read it rejects,
   * and says which.
   */
  async readNew(
    own: FileHeads,
    newOfOwn: readonly FileHistory[] = [],
  ): Promise<{ news: FileHistory[]; forks: AnchorFork[] }> {
    const news: FileHistory[] = [];
    const read: [string, NewContent][] = [];
    for (const name of await this.#names()) {
      const found = await this.#readOne(name, this.#files.get(name));
      if (found === undefined) continue;
      read.push([name, found]);
      news.push({ path: this.#path(name), history: found.added });
    }
    const known = Array.from(this.#files, ([name, { heads }]) => ({ path: this.#path(name), heads }));
    const forks = news.length === 0 ? [] : findForks([...newOfOwn, ...news], [own, ...known]);
    // Only now: what was read beside one that cannot be read is news the next time, too.
    for (const [name, content] of read) this.#files.set(name, withNews(this.#files.get(name), content));
    return { news, forks };
  }

  /** All that they have now. */
  async readAll(): Promise<FileHistory[]> {
    const found: FileHistory[] = [];
    for (const name of await this.#names()) {
      const { added: history } = (await this.#readOne(name, undefined)) ?? {};
      if (history !== undefined) found.push({ path: this.#path(name), history });
    }
    return found;
  }

  async #names(): Promise<string[]> {
    const names = await readdir(this.#directory);
    return names.filter((name) => name !== this.#ownName && isAnchorFile(name)).sort();
  }

  /** Undefined where nothing is new. */
  async #readOne(name: string, before: OtherFile | undefined): Promise<NewContent | undefined> {
    const path = this.#path(name);
    for (let attempt = 1; ; attempt++) {
      try {
        return await readFile(path, before);
      } catch (error) {
        if (codeOf(error) === 'ENOENT') return undefined;
        const mayPass = error instanceof AnchorDamage || codeOf(error) === 'ESTALE';
        if (!mayPass || attempt === ATTEMPTS) throw new Error(anchorTrouble(path, error), { cause: error });
      }
    }
  }

  #path(name: string): string {
    return join(this.#directory, name);
  }
}

/** Undefined where it is as it was. */
async function readFile(path: string, before: OtherFile | undefined): Promise<NewContent | undefined> {
  // Opened, not only looked at: on NFS that is what makes sure that all that others have closed or synced is seen.
  await using handle = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
  const found = await handle.stat({ bigint: true });
  // A folder of this name is a draft of whoever writes the file.
  if (!found.isFile() || (before !== undefined && isSame(before.state, found))) return undefined;
  const { dev, ino, size, mtimeNs } = found;
  return { ...(await readAddition(handle, before, found)), state: { dev, ino, size, mtimeNs } };
}

/** The same map goes on: there may be ten thousand heads in it, and one that is new. */
function withNews(before: OtherFile | undefined, { added, ...content }: NewContent): OtherFile {
  const heads = before?.heads ?? new Map<string, AnchoredHead>();
  for (const [origin, list] of added) {
    const [last, known] = [list.at(-1)!, heads.get(origin)];
    if (known === undefined || known.size <= last.size) heads.set(origin, last);
  }
  return { ...content, heads };
}

/** What follows upon what was read before, if the file has only grown; else all of it. */
async function readAddition(
  handle: FileHandle,
  before: OtherFile | undefined,
  { dev, ino, size }: FileState,
): Promise<AnchorAddition> {
  if (before !== undefined && before.state.dev === dev && before.state.ino === ino) {
    try {
      if (size > before.state.size)
        return readAnchorFrom({ ...before, lastAt: 0 }, await bytesOf(handle, before.bytes, size));
    } catch (error) {
      // Its owner may have cut away what was read, because it had come to no disk, and written something else.
      if (!(error instanceof AnchorDamage)) throw error;
    }
  }
  return readAnchorFrom(undefined, await bytesOf(handle, 0, size));
}

/** Up to where the file was long; it may be shorter by now. */
async function bytesOf(handle: FileHandle, from: number, size: bigint): Promise<Buffer> {
  const bytes = Buffer.alloc(Number(size) - from);
  let done = 0;
  while (done < bytes.length) {
    const { bytesRead } = await handle.read(bytes, done, bytes.length - done, from + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}

function isSame(one: FileState, other: FileState): boolean {
  return (
    one.dev === other.dev && one.ino === other.ino && one.size === other.size && one.mtimeNs === other.mtimeNs
  );
}
