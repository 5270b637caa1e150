// What several nodes have anchored, put together. They share a directory, in which each writes a file of its own: of an
// origin the largest head counts, whoever has anchored it. Two heads of one size with different roots are a fork: two
// histories were signed, and nothing in here tells which is the right one.

import { equalBytes, toHex } from '@tallystick/evidence';
import type { AnchoredHead, AnchorHistory } from '../streams/anchor.ts';
import { ANCHOR_FILE } from './anchor-file.ts';

export interface AnchorFork {
  readonly origin: string;
  readonly size: number;
  readonly message: string;
}

/** All that a file has, or what is new in it; `path` is for people. */
export interface FileHistory {
  readonly path: string;
  readonly history: AnchorHistory;
}

/** The newest heads of a file. */
export interface FileHeads {
  readonly path: string;
  readonly heads: ReadonlyMap<string, AnchoredHead>;
}

const TO_GO_ON =
  'Most likely a node has served from another copy of the database. Keep both files for whoever audits; to go on, take the file of that node out of the directory, and restart.';

const NODE_NAME = /^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$/;

/** `anchor` alone is of a time when one service wrote it. */
export function isAnchorFile(name: string): boolean {
  return name === ANCHOR_FILE || NODE_NAME.test(nodeIn(name) ?? '');
}

export function anchorFileOf(node: string): string {
  if (!NODE_NAME.test(node)) throw new Error(`${JSON.stringify(node)} is no name of a node`);
  return `${ANCHOR_FILE}-${node}`;
}

function nodeIn(name: string): string | undefined {
  return name.startsWith(`${ANCHOR_FILE}-`) ? name.slice(ANCHOR_FILE.length + 1) : undefined;
}

/** By origin, ascending, each head once. */
export function mergeHistories(files: readonly FileHistory[]): Map<string, AnchoredHead[]> {
  const merged = new Map<string, AnchoredHead[]>();
  for (const { history } of files) {
    for (const [origin, heads] of history) {
      const known = merged.get(origin);
      merged.set(origin, known === undefined ? [...heads] : mergedHeads(known, heads));
    }
  }
  return merged;
}

function mergedHeads(ones: readonly AnchoredHead[], others: readonly AnchoredHead[]): AnchoredHead[] {
  const merged: AnchoredHead[] = [];
  for (const head of [...ones, ...others].sort((a, b) => a.size - b.size)) {
    // Of one size there may be several, where it is a fork.
    const isKnown = merged.findLast(({ size, root }) => size !== head.size || equalBytes(root, head.root));
    if (isKnown?.size !== head.size) merged.push(head);
  }
  return merged;
}

/** What is new, held against one another and against what the files were known to have. The first of each origin. */
export function findForks(news: readonly FileHistory[], known: readonly FileHeads[] = []): AnchorFork[] {
  const origins = new Set<string>();
  for (const { history } of news) for (const origin of history.keys()) origins.add(origin);
  return [...origins].flatMap((origin) => forkOf(origin, news, known) ?? []);
}

interface PlacedHead {
  readonly head: AnchoredHead;
  readonly path: string;
}

function forkOf(
  origin: string,
  news: readonly FileHistory[],
  known: readonly FileHeads[],
): AnchorFork | undefined {
  const bySize = new Map<number, PlacedHead>();
  for (const placed of placedHeads(origin, news, known)) {
    const other = bySize.get(placed.head.size);
    if (other === undefined) bySize.set(placed.head.size, placed);
    else if (!equalBytes(other.head.root, placed.head.root)) return asFork(other, placed);
  }
  return undefined;
}

function* placedHeads(
  origin: string,
  news: readonly FileHistory[],
  known: readonly FileHeads[],
): Iterable<PlacedHead> {
  for (const { path, heads } of known) {
    const head = heads.get(origin);
    if (head !== undefined) yield { head, path };
  }
  for (const { path, history } of news) for (const head of history.get(origin) ?? []) yield { head, path };
}

function asFork(one: PlacedHead, other: PlacedHead): AnchorFork {
  const { origin, size } = one.head;
  const at = ({ head, path }: PlacedHead) => `root ${toHex(head.root)} in ${path}`;
  const message = `two histories of ${origin} were signed: with ${size} entries it has ${at(one)} and ${at(other)}. ${TO_GO_ON}`;
  return { origin, size, message };
}
