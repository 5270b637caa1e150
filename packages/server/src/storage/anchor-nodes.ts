// The anchor of nodes that serve from one database: a directory, on a path that all of them share, in which each node
// appends to a file of its own (`anchor-<name>`, as in anchor-file.ts) and reads those of the others. Never do two append
// to one file: on NFS they would overwrite each other. `anchor`, which one service has written before there were several, or
// `tallystick recover` while none ran, is read as well.
//
// Each node has the lock of its name (`lock-<name>.db`), so that no two have the same, and shares `lock.db`, which
// a process that must be alone locks exclusively.

import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { equalBytes } from '@tallystick/evidence';
import { StartError } from '../start-error.ts';
import type { Anchor, AnchoredHead, AnchorHistory } from '../streams/anchor.ts';
import { ANCHOR_FILE, anchorTrouble, openAnchorFile } from './anchor-file.ts';
import {
  type AnchorFork,
  anchorFileOf,
  type FileHistory,
  isAnchorFile,
  mergeHistories,
} from './anchor-merge.ts';
import { OtherAnchorFiles } from './anchor-others.ts';
import { LOCK_FILE, takeProcessLock } from './process-lock.ts';

export interface NodesAnchorOptions {
  /** Must be there: one that is missing is most likely a disk that is not mounted. */
  readonly directory: string;
  /** The name of this node. */
  readonly node: string;
}

/** Throws StartError. A fork is no reason to: the log that it is in is refused, and no other. */
export async function openNodesAnchor({ directory, node }: NodesAnchorOptions): Promise<Anchor> {
  await requireDirectory(directory);
  const ownName = anchorFileOf(node);
  await using opening = new AsyncDisposableStack();
  opening.use(
    takeProcessLock(
      join(directory, `lock-${node}.db`),
      'Alone',
      `another node with the name ${node} is running on the anchor in ${directory}: give each node its own name by Node__Name`,
    ),
  );
  const aloneMessage = `another process holds the anchor in ${directory} alone, most likely tallystick recover: start again when it has ended`;
  opening.use(takeProcessLock(join(directory, LOCK_FILE), 'Shared', aloneMessage));
  const path = join(directory, ownName);
  const own = opening.use(await openAnchorFile(path));
  return await withOthers({ path, own, others: new OtherAnchorFiles(directory, ownName) }, opening);
}

/**
 * For a service or a command that is alone: its own file, `anchor`, and beside it what nodes have anchored who have
 * served its logs from a database. A store that those were copied from must not go on behind their backs. Throws StartError.
 */
export async function openOwnAnchor(place: string): Promise<Anchor> {
  await using opening = new AsyncDisposableStack();
  const own = opening.use(await openAnchorFile(place));
  const shared = await isShared(place).catch((error: unknown) => {
    throw new StartError(anchorTrouble(place, error), { cause: error });
  });
  if (!shared) {
    opening.move();
    return own;
  }
  const others = new OtherAnchorFiles(place, ANCHOR_FILE);
  return await withOthers({ path: join(place, ANCHOR_FILE), own, others }, opening);
}

/** Others have a file there. */
async function isShared(directory: string): Promise<boolean> {
  if (!(await stat(directory)).isDirectory()) return false;
  return (await readdir(directory)).some((name) => name !== ANCHOR_FILE && isAnchorFile(name));
}

/** Whoever opens waits for it: what is opened is moved only then. */
async function withOthers(files: NodesAnchorFiles, opening: AsyncDisposableStack): Promise<Anchor> {
  const { path, own, others } = files;
  try {
    const all = { path, history: await own.history() };
    const { news, forks } = await others.readNew({ path, heads: own.heads() }, [all]);
    return new NodesAnchor(files, { news: [all, ...news], forks }, opening.move());
  } catch (error) {
    throw new StartError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** For whoever must be sure that no node runs, until it is disposed; throws StartError where one does. */
export function takeAnchorAlone(directory: string): Disposable {
  const heldMessage = `another instance is running on the anchor in ${directory}: stop every node first`;
  return takeProcessLock(join(directory, LOCK_FILE), 'Alone', heldMessage);
}

async function requireDirectory(directory: string): Promise<void> {
  let isDirectory: boolean;
  try {
    isDirectory = (await stat(directory)).isDirectory();
  } catch (error) {
    throw new StartError(anchorTrouble(directory, error), { cause: error });
  }
  if (isDirectory) return;
  throw new StartError(
    `cannot use the anchor ${directory}: on PostgreSQL it is a directory, in which each node has a file. Name the directory by Log__Anchor; this file can be in it, as anchor`,
  );
}

interface NodesAnchorFiles {
  readonly path: string;
  readonly own: Anchor;
  readonly others: OtherAnchorFiles;
}

interface Found {
  readonly news: readonly FileHistory[];
  readonly forks: readonly AnchorFork[];
}

class NodesAnchor implements Anchor {
  readonly #files: NodesAnchorFiles;
  readonly #opened: AsyncDisposable;
  /** The newest of all files. What was once read stays, whatever becomes of the file while this node runs. */
  readonly #heads = new Map<string, AnchoredHead>();
  readonly #forks = new Map<string, string>();
  #last: Promise<unknown> = Promise.resolve();

  constructor(files: NodesAnchorFiles, { news, forks }: Found, opened: AsyncDisposable) {
    this.#files = files;
    this.#opened = opened;
    this.#take(news);
    this.#refuse(forks);
  }

  get isNew(): boolean {
    return this.#heads.size === 0;
  }

  heads(): ReadonlyMap<string, AnchoredHead> {
    return this.#heads;
  }

  forks(): ReadonlyMap<string, string> {
    return this.#forks;
  }

  async history(): Promise<AnchorHistory> {
    const { path, own, others } = this.#files;
    return mergeHistories([{ path, history: await own.history() }, ...(await others.readAll())]);
  }

  refresh(): Promise<void> {
    return this.#inTurn(() => this.#refresh());
  }

  append(heads: readonly AnchoredHead[]): Promise<void> {
    return this.#inTurn(() => this.#append(heads));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.#opened[Symbol.asyncDispose]();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #refresh(): Promise<void> {
    const { path, own, others } = this.#files;
    const { news, forks } = await others.readNew({ path, heads: own.heads() });
    this.#take(news);
    this.#refuse(forks);
  }

  async #append(wanted: readonly AnchoredHead[]): Promise<void> {
    await this.#refresh();
    const { own } = this.#files;
    const heads = wanted.filter((head) => !this.#isLate(head));
    await own.append(heads);
    for (const { origin } of heads) this.#know(own.heads().get(origin)!);
  }

  /**
   * Another node has anchored more of it: whoever anchors waits for the disk before that counts. What this node has anchored
   * itself is no excuse. Throws where it is a fork.
   */
  #isLate({ origin, size, root }: AnchoredHead): boolean {
    const fork = this.#forks.get(origin);
    if (fork !== undefined) throw new Error(fork);
    const newest = this.#heads.get(origin);
    if (newest === undefined || newest.size < size) return false;
    if (newest.size === size && !equalBytes(newest.root, root))
      throw new Error(`${origin} is anchored at size ${size} with another root: this would be a fork`);
    // One that is as large is anchored here as well: nobody knows whether theirs has come to the disk yet.
    return newest.size > size && (this.#files.own.heads().get(origin)?.size ?? -1) < size;
  }

  #take(files: readonly FileHistory[]): void {
    for (const { history } of files) for (const heads of history.values()) this.#know(heads.at(-1)!);
  }

  #know(head: AnchoredHead): void {
    if (head.size > (this.#heads.get(head.origin)?.size ?? -1)) this.#heads.set(head.origin, head);
  }

  #refuse(forks: readonly AnchorFork[]): void {
    for (const { origin, message } of forks) if (!this.#forks.has(origin)) this.#forks.set(origin, message);
  }
}
