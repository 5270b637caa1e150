// The anchor: a file that this process appends to (own-file.ts), and the files of other processes beside it, which it
// reads (files.ts). A service on SQLite is alone, and its file is `anchor`, by default in the data directory; nodes
// that serve one database share a directory in which each has `anchor-<name>`. No two processes append to one file: on
// NFS they would overwrite each other.
//
// Each node holds the lock of its name (`lock-<name>.db`), so that names are unique, and shares `lock.db`, which a
// process that must be alone locks exclusively.

import { stat } from 'node:fs/promises';
import { join } from 'node:path';
import { equalBytes } from '@tallystick/evidence';
import { StartError } from '../../start-error.ts';
import type { Anchor, AnchoredHead, AnchorHistory, ReadAnchor } from '../../streams/anchor/anchor.ts';
import { LOCK_FILE, takeProcessLock } from '../files/process-lock.ts';
import { AnchorFiles, anchorFileOf, anchorTrouble } from './files.ts';
import { newestIn } from './format.ts';
import { type FileHeads, type FileHistory, findForks, mergeHistories } from './merge.ts';
import { openOwnAnchorFile, type OwnAnchorFile } from './own-file.ts';

export interface NodesAnchorOptions {
  /** Must exist: a missing directory is most likely an unmounted disk. */
  readonly directory: string;
  /** The name of this node. */
  readonly node: string;
}

/**
 * The anchor of one of several nodes. A fork does not fail the node: only the log with the fork is refused. Throws
 * StartError.
 */
export async function openNodesAnchor({ directory, node }: NodesAnchorOptions): Promise<Anchor> {
  await requireDirectory(directory);
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
  const own = opening.use(await openOwnAnchorFile(join(directory, anchorFileOf(node))));
  return await opened(new FileAnchor(directory, own, opening.move()));
}

/**
 * The anchor of a service or command that is alone; `place` is its file, or a directory. Nodes may have served these
 * logs from a database and anchored them in that directory: the store that their database was copied from must not
 * continue unnoticed. Throws StartError.
 */
export async function openOwnAnchor(place: string): Promise<Anchor> {
  const own = await openOwnAnchorFile(place);
  return opened(new FileAnchor(place, own, own));
}

/** Only reads, also while a service writes; a missing anchor is empty. Throws StartError. */
export function readAnchorAt(place: string): Promise<ReadAnchor> {
  return opened(new FileAnchor(place));
}

async function opened(anchor: FileAnchor): Promise<FileAnchor> {
  try {
    await anchor.readFirst();
    return anchor;
  } catch (error) {
    await anchor[Symbol.asyncDispose]();
    // The message already names the file.
    throw new StartError(error instanceof Error ? error.message : String(error), { cause: error });
  }
}

/** Locks out every node until it is disposed; throws StartError if one is running. */
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

class FileAnchor implements Anchor {
  readonly #others: AnchorFiles;
  readonly #own: OwnAnchorFile | undefined;
  readonly #parts: AsyncDisposable | undefined;
  /** The newest heads of all files. A head that was read once stays while this process runs, even if its file changes. */
  readonly #heads = new Map<string, AnchoredHead>();
  readonly #forks = new Map<string, string>();
  #last: Promise<unknown> = Promise.resolve();

  /** Without a file of its own it only reads. The parts are disposed with it. */
  constructor(place: string, own?: OwnAnchorFile, parts?: AsyncDisposable) {
    this.#others = new AnchorFiles(place, own?.path);
    this.#own = own;
    this.#parts = parts;
  }

  get isMissing(): boolean {
    return this.#own === undefined && this.#others.areMissing;
  }

  heads(): ReadonlyMap<string, AnchoredHead> {
    return this.#heads;
  }

  forks(): ReadonlyMap<string, string> {
    return this.#forks;
  }

  async history(): Promise<AnchorHistory> {
    return mergeHistories([...(await this.#ownHistory()), ...(await this.#others.readAll())]);
  }

  async readFirst(): Promise<void> {
    for (const head of this.#own?.heads.values() ?? []) this.#know(head);
    await this.#others.readNew(async (news, known) =>
      this.#take([...(await this.#ownHistory()), ...news], known),
    );
  }

  refresh(): Promise<void> {
    return this.#inTurn(() => this.#refresh());
  }

  append(heads: readonly AnchoredHead[]): Promise<void> {
    return this.#inTurn(() => this.#append(heads));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#last;
    await this.#parts?.[Symbol.asyncDispose]();
  }

  #inTurn(work: () => Promise<void>): Promise<void> {
    const done = this.#last.then(work);
    this.#last = done.catch(() => undefined);
    return done;
  }

  async #ownHistory(): Promise<FileHistory[]> {
    return this.#own === undefined ? [] : [{ path: this.#own.path, history: await this.#own.history() }];
  }

  #refresh(): Promise<void> {
    return this.#others.readNew((news, known) => this.#take(news, known));
  }

  #take(news: readonly FileHistory[], known: readonly FileHeads[]): void {
    const forks = findForks(news, this.#own === undefined ? known : [this.#own, ...known]);
    for (const [origin, message] of forks) if (!this.#forks.has(origin)) this.#forks.set(origin, message);
    for (const { history } of news) for (const head of newestIn(history).values()) this.#know(head);
  }

  #know(head: AnchoredHead): void {
    if (head.size > (this.#heads.get(head.origin)?.size ?? -1)) this.#heads.set(head.origin, head);
  }

  async #append(wanted: readonly AnchoredHead[]): Promise<void> {
    if (this.#own === undefined) throw new Error('this anchor was opened for reading only');
    await this.#refresh();
    const heads = this.#newHeads(wanted, this.#own.heads);
    await this.#own.append(heads);
    for (const head of heads) this.#know(head);
  }

  /** Copies of the heads to append; throws if one of them contradicts an anchored head. */
  #newHeads(wanted: readonly AnchoredHead[], own: ReadonlyMap<string, AnchoredHead>): AnchoredHead[] {
    const heads = new Map<string, AnchoredHead>();
    const inOrder: AnchoredHead[] = [];
    for (const { origin, size, root } of wanted) {
      const fork = this.#forks.get(origin);
      if (fork !== undefined) throw new Error(fork);
      const [newest, before] = [this.#heads.get(origin), heads.get(origin) ?? own.get(origin)];
      for (const anchored of [newest, before])
        if (anchored?.size === size && !equalBytes(anchored.root, root))
          throw new Error(`${origin} is anchored at size ${size} with another root: this would be a fork`);
      // Another node has anchored more, which counts once it is on its disk. A head of equal size is anchored here as
      // well, since it is unknown whether theirs is on a disk yet.
      const isLate = newest !== undefined && newest.size > size && (own.get(origin)?.size ?? -1) < size;
      if (isLate || before?.size === size) continue;
      if (before !== undefined && before.size > size)
        throw new Error(`${origin} is anchored at size ${before.size}; it cannot go back to ${size}`);
      const head = { origin, size, root: root.slice() };
      heads.set(origin, head);
      inOrder.push(head);
    }
    return inOrder;
  }
}
