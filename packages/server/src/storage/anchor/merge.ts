// Merges the heads of several files. For each origin the largest head of any node counts. Two heads of one size with
// different roots are a fork: two histories were signed, and nothing here tells which one is right.

import { equalBytes, toHex } from '@tallystick/evidence';
import type { AnchoredHead, AnchorHistory } from '../../streams/anchor/anchor.ts';

/** All heads of a file, or the new ones; `path` is for messages. */
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
  'Most likely a node has served from another copy of the database. Keep both files for the audit; to go on, take the file of that node out of the directory, and restart.';

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
    // A fork has several of one size.
    const same = merged.findLast(({ size, root }) => size !== head.size || equalBytes(root, head.root));
    if (same?.size !== head.size) merged.push(head);
  }
  return merged;
}

/**
 * Compares new heads with one another and with the newest known heads of each file. Describes the first fork of each origin
 * for people.
 */
export function findForks(
  news: readonly FileHistory[],
  known: readonly FileHeads[] = [],
): Map<string, string> {
  const forks = new Map<string, string>();
  for (const origin of new Set(news.flatMap(({ history }) => [...history.keys()]))) {
    const bySize = new Map<number, PlacedHead>();
    for (const placed of placedHeads(origin, news, known)) {
      const other = bySize.get(placed.head.size);
      if (other === undefined) bySize.set(placed.head.size, placed);
      else if (!forks.has(origin) && !equalBytes(other.head.root, placed.head.root))
        forks.set(origin, forkMessage(other, placed));
    }
  }
  return forks;
}

interface PlacedHead {
  readonly head: AnchoredHead;
  readonly path: string;
}

function placedHeads(
  origin: string,
  news: readonly FileHistory[],
  known: readonly FileHeads[],
): PlacedHead[] {
  return [
    ...known.map(({ path, heads }) => ({ head: heads.get(origin), path })),
    ...news.flatMap(({ path, history }) => (history.get(origin) ?? []).map((head) => ({ head, path }))),
  ].filter((placed): placed is PlacedHead => placed.head !== undefined);
}

function forkMessage(one: PlacedHead, other: PlacedHead): string {
  const { origin, size } = one.head;
  const at = ({ head, path }: PlacedHead) => `root ${toHex(head.root)} in ${path}`;
  return `two histories of ${origin} were signed: with ${size} entries it has ${at(one)} and ${at(other)}. ${TO_GO_ON}`;
}
