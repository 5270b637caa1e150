// Reads the files of an anchor, which other processes may be writing: `anchor`, of a service or a command that is alone, and
// `anchor-<name>` of each node. A file is read as a whole at first, and from then on only its new records. Its owner may
// append at the same moment, or replace the file by a smaller one: an incomplete record is read the next time.

import { type FileHandle, open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';
import { codeOf } from '../whole-file.ts';
import { type AnchorContent, AnchorDamage, readAnchor } from './format.ts';
import type { FileHeads, FileHistory } from './merge.ts';

export const ANCHOR_FILE = 'anchor';
const NODE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;
/** Its owner may cut and write while it is read: if it is still damaged after this many, it is damaged. */
const ATTEMPTS = 3;

export function anchorFileOf(node: string): string {
  if (!NODE_NAME.test(node)) throw new Error(`${JSON.stringify(node)} is no name of a node`);
  return `${ANCHOR_FILE}-${node}`;
}

export function isAnchorFile(name: string): boolean {
  const prefix = `${ANCHOR_FILE}-`;
  return name === ANCHOR_FILE || (name.startsWith(prefix) && NODE_NAME.test(name.slice(prefix.length)));
}

/** Why an anchor cannot be used, and what to do, for people. */
export function anchorTrouble(path: string, cause: unknown): string {
  const why =
    cause instanceof AnchorDamage
      ? `${cause.message}; put back an undamaged copy that is no older; if there is none, move the file away and run \`tallystick recover --accept-lost-anchor\``
      : `${codeOf(cause)}; see Log__Anchor`;
  return `cannot use the anchor ${path}: ${why}`;
}

/** The paths of all files of an anchor, which is a file or a directory. One that is missing has none, or is an error. */
export async function anchorFilesAt(place: string, mustExist = false): Promise<string[]> {
  try {
    const found = await stat(place).catch(mustExist ? undefined : undefinedIfMissing);
    if (found?.isDirectory() !== true) return found?.isFile() === true ? [place] : [];
    const paths: string[] = [];
    for (const entry of await readdir(place, { withFileTypes: true })) {
      const path = join(place, entry.name);
      // A folder of such a name is a draft that the owner of a file writes.
      const isFile = entry.isFile() || (entry.isSymbolicLink() && (await isFileAt(path)));
      if (isFile && isAnchorFile(entry.name)) paths.push(path);
    }
    return paths.sort();
  } catch (error) {
    throw new Error(anchorTrouble(place, error), { cause: error });
  }
}

async function isFileAt(path: string): Promise<boolean> {
  return (await stat(path).catch(undefinedIfMissing))?.isFile() === true;
}

export async function hasAnchor(place: string): Promise<boolean> {
  return (await anchorFilesAt(place)).length > 0;
}

export function undefinedIfMissing(error: unknown): undefined {
  if (!['ENOENT', 'ENOTDIR'].includes(codeOf(error))) throw error;
}

/** Tells whether a file has changed. */
interface FileState {
  readonly dev: bigint;
  readonly ino: bigint;
  readonly size: bigint;
  readonly mtimeNs: bigint;
}

interface KnownFile extends Pick<AnchorContent, 'bytes' | 'closing'> {
  readonly state: FileState;
  readonly heads: Map<string, AnchoredHead>;
}

type Reading = AnchorContent & { readonly state: FileState };

export class AnchorFiles {
  readonly #place: string;
  readonly #except: string | undefined;
  readonly #known = new Map<string, KnownFile>();
  #areMissing = false;

  /** `except` is the path of a file at this place that is not read. */
  constructor(place: string, except?: string) {
    this.#place = place;
    this.#except = except;
  }

  /** There was no file when they were last read. */
  get areMissing(): boolean {
    return this.#areMissing;
  }

  /**
   * Gives `take` the heads that were added since the last call, if there are any, together with the newest that were known of
   * each file before. A file that is gone, or was put back to an earlier state, takes nothing away. Where a file cannot be
   * read it rejects, and says which; then all that is new is still new the next time.
   */
  async readNew(
    take: (news: readonly FileHistory[], known: readonly FileHeads[]) => void | Promise<void>,
  ): Promise<void> {
    const read = await this.#read((path) => this.#known.get(path));
    if (read.length === 0) return;
    const known = Array.from(this.#known, ([path, { heads }]) => ({ path, heads }));
    await take(read.map(asHistory), known);
    for (const [path, reading] of read) this.#known.set(path, withNews(this.#known.get(path), reading));
  }

  /** All heads of all files as they are now. */
  async readAll(): Promise<FileHistory[]> {
    return (await this.#read(() => undefined)).map(asHistory);
  }

  async #read(before: (path: string) => KnownFile | undefined): Promise<[string, Reading][]> {
    const read: [string, Reading][] = [];
    const paths = await anchorFilesAt(this.#place, this.#except !== undefined);
    this.#areMissing = paths.length === 0;
    for (const path of paths) {
      if (path === this.#except) continue;
      const reading = await readPatiently(path, before(path));
      if (reading !== undefined) read.push([path, reading]);
    }
    return read;
  }
}

function asHistory([path, { history }]: readonly [string, Reading]): FileHistory {
  return { path, history };
}

/** Keeps the same map: there may be ten thousand heads in it, and one that is new. */
function withNews(
  before: KnownFile | undefined,
  { heads: added, bytes, closing, state }: Reading,
): KnownFile {
  const heads = before?.heads ?? new Map<string, AnchoredHead>();
  for (const [origin, head] of added) {
    const known = heads.get(origin);
    if (known === undefined || known.size <= head.size) heads.set(origin, head);
  }
  return { heads, bytes, closing, state };
}

/** Undefined where nothing is new. */
async function readPatiently(path: string, before: KnownFile | undefined): Promise<Reading | undefined> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await readOnce(path, before);
    } catch (error) {
      if (codeOf(error) === 'ENOENT') return undefined;
      const mayPass = error instanceof AnchorDamage || codeOf(error) === 'ESTALE';
      if (!mayPass || attempt === ATTEMPTS) throw new Error(anchorTrouble(path, error), { cause: error });
    }
  }
}

async function readOnce(path: string, before: KnownFile | undefined): Promise<Reading | undefined> {
  // Opened, not only looked at: on NFS an open shows all that others have closed or synced.
  await using handle = await open(path);
  const { dev, ino, size, mtimeNs } = await handle.stat({ bigint: true });
  const state = { dev, ino, size, mtimeNs };
  const isSameFile = before !== undefined && before.state.dev === dev && before.state.ino === ino;
  if (isSameFile && before.state.size === size && before.state.mtimeNs === mtimeNs) return undefined;
  try {
    if (isSameFile && size > before.state.size)
      return { ...readAnchor(await bytesOf(handle, before.bytes, size), before), state };
  } catch (error) {
    // Its owner may have cut away records that were read here, because they had come to no disk, and written others.
    if (!(error instanceof AnchorDamage)) throw error;
  }
  return { ...readAnchor(await bytesOf(handle, 0, size)), state };
}

/** Up to the size that the file had; it may be shorter by now. */
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
