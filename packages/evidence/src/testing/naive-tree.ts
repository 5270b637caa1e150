// For tests: RFC 6962 sections 2.1 to 2.1.2 word for word, recursive and slow, over Node's own SHA-256. It
// shares nothing with the code that it is compared with.

import { hash } from 'node:crypto';

export type Hashes = readonly Uint8Array[];

const sha256 = (...parts: Uint8Array[]): Uint8Array =>
  Uint8Array.from(hash('sha256', Buffer.concat(parts), 'buffer'));

export function naiveNode(left: Uint8Array, right: Uint8Array): Uint8Array {
  return sha256(Uint8Array.of(1), left, right);
}

/** The largest power of two below n. */
export function naiveSplit(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

/** A tree whose entry i is the text "entry i". */
export class NaiveTree {
  readonly entries: Uint8Array[];
  readonly leaves: Uint8Array[];
  readonly #roots = new Map<number, Uint8Array>();

  constructor(size: number) {
    this.entries = Array.from({ length: size }, (_, i) => Uint8Array.from(Buffer.from(`entry ${i}`)));
    this.leaves = this.entries.map((entry) => sha256(Uint8Array.of(0), entry));
  }

  /** MTH(D[lo:hi]) */
  root(lo: number, hi: number): Uint8Array {
    if (hi === lo) return sha256();
    if (hi - lo === 1) return this.leaves[lo]!;
    const key = lo * 1_000_000 + hi;
    const known = this.#roots.get(key);
    if (known !== undefined) return known;
    const k = naiveSplit(hi - lo);
    const root = naiveNode(this.root(lo, lo + k), this.root(lo + k, hi));
    this.#roots.set(key, root);
    return root;
  }

  /** PATH(m, D[lo:hi]) */
  inclusion(m: number, hi: number, lo = 0): Uint8Array[] {
    if (hi - lo === 1) return [];
    const k = naiveSplit(hi - lo);
    return m < k
      ? [...this.inclusion(m, lo + k, lo), this.root(lo + k, hi)]
      : [...this.inclusion(m - k, hi, lo + k), this.root(lo, lo + k)];
  }

  /** SUBPROOF(m, D[lo:hi], b) */
  consistency(m: number, hi: number, lo = 0, b = true): Uint8Array[] {
    if (m === hi - lo) return b ? [] : [this.root(lo, hi)];
    const k = naiveSplit(hi - lo);
    return m <= k
      ? [...this.consistency(m, lo + k, lo, b), this.root(lo + k, hi)]
      : [...this.consistency(m - k, hi, lo + k, false), this.root(lo, lo + k)];
  }

  /** The hashes of the nodes that [from, to) has no leaf in, left to right. */
  range(from: number, to: number, hi: number, lo = 0): Uint8Array[] {
    if (to <= lo || hi <= from || from === to) return [this.root(lo, hi)];
    if (hi - lo === 1) return [];
    const k = naiveSplit(hi - lo);
    return [...this.range(from, to, lo + k, lo), ...this.range(from, to, hi, lo + k)];
  }

  /** As a HashReader. */
  readonly read = (level: number, index: number): Uint8Array => {
    const end = (index + 1) * 2 ** level;
    if (end > this.leaves.length) throw new Error(`read past the end: subtree (${level}, ${index})`);
    return this.root(index * 2 ** level, end);
  };
}

/** The root that PATH leads to, or nothing if it has too few or too many hashes. */
export function naiveInclusionRoot(
  leaf: Uint8Array,
  m: number,
  n: number,
  proof: Hashes,
): Uint8Array | undefined {
  if (m >= n) return undefined;
  if (n === 1) return proof.length === 0 ? leaf : undefined;
  const sibling = proof.at(-1);
  if (sibling === undefined) return undefined;
  const k = naiveSplit(n);
  const left = m < k ? naiveInclusionRoot(leaf, m, k, proof.slice(0, -1)) : sibling;
  const right = m < k ? sibling : naiveInclusionRoot(leaf, m - k, n - k, proof.slice(0, -1));
  return left && right && naiveNode(left, right);
}

/** Both roots that SUBPROOF leads to, or nothing. */
export function naiveConsistencyRoots(
  old: Uint8Array,
  m: number,
  n: number,
  proof: Hashes,
  b = true,
): [Uint8Array, Uint8Array] | undefined {
  if (m < 1 || m > n) return undefined;
  if (m === n) {
    if (proof.length !== (b ? 0 : 1)) return undefined;
    return b ? [old, old] : [proof[0]!, proof[0]!];
  }
  const sibling = proof.at(-1);
  if (sibling === undefined) return undefined;
  const k = naiveSplit(n);
  const rest = proof.slice(0, -1);
  if (m <= k) {
    const below = naiveConsistencyRoots(old, m, k, rest, b);
    return below && [below[0], naiveNode(below[1], sibling)];
  }
  const below = naiveConsistencyRoots(old, m - k, n - k, rest, false);
  return below && [naiveNode(sibling, below[0]), naiveNode(sibling, below[1])];
}

/** The root that a range proof leads to, or nothing. */
export function naiveRangeRoot(
  leaves: Hashes,
  from: number,
  n: number,
  proof: Hashes,
): Uint8Array | undefined {
  const to = from + leaves.length;
  if (to > n) return undefined;
  let used = 0;
  const root = (lo: number, hi: number): Uint8Array | undefined => {
    if (to <= lo || hi <= from || from === to) return proof[used++];
    if (hi - lo === 1) return leaves[lo - from];
    const k = naiveSplit(hi - lo);
    const left = root(lo, lo + k);
    const right = root(lo + k, hi);
    return left && right && naiveNode(left, right);
  };
  const whole = root(0, n);
  return used === proof.length ? whole : undefined;
}
