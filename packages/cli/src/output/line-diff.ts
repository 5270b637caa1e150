// The difference of two texts, line by line, in the form of `diff -u`. It is the shortest one (Myers, An O(ND) Difference
// Algorithm, 1986) up to a limit on the number of differing lines; past it, all old lines are removed and all new ones added.

export interface DiffLine {
  readonly kind: 'Same' | 'Removed' | 'Added';
  readonly text: string;
}

/** Memory grows with its square: 16 MB. */
const DIFFERENCES_MAX = 2000;
const CONTEXT = 3;

export function diffLines(from: readonly string[], to: readonly string[]): DiffLine[] {
  const trace = shortestTrace(from, to);
  if (trace === undefined) return [...from.map(removed), ...to.map(added)];
  const lines: DiffLine[] = [];
  let [x, y] = [from.length, to.length];
  for (let d = trace.length - 1; d >= 0; d--) {
    const before = stepBefore(trace[d]!, d, x - y);
    while (x > before.x && y > before.y) {
      lines.push({ kind: 'Same', text: from[x - 1]! });
      [x, y] = [x - 1, y - 1];
    }
    if (d > 0) lines.push(x > before.x ? removed(from[x - 1]!) : added(to[y - 1]!));
    ({ x, y } = before);
  }
  return lines.toReversed();
}

/** The changed parts with three lines of context, each below its place in both texts: `@@ -1,4 +1,5 @@`. */
export function diffHunks(lines: readonly DiffLine[]): string[] {
  const shown = lines.map(() => false);
  for (const [i, { kind }] of lines.entries())
    if (kind !== 'Same') shown.fill(true, Math.max(0, i - CONTEXT), i + CONTEXT + 1);
  const hunks: string[] = [];
  let [fromLine, toLine] = [1, 1];
  for (let i = 0; i < lines.length; ) {
    const end = shown.indexOf(!shown[i], i);
    const part = lines.slice(i, end === -1 ? undefined : end);
    const fromCount = part.filter(({ kind }) => kind !== 'Added').length;
    const toCount = part.filter(({ kind }) => kind !== 'Removed').length;
    if (shown[i])
      hunks.push(
        `@@ -${spanOf(fromLine, fromCount)} +${spanOf(toLine, toCount)} @@`,
        ...part.map(({ kind, text }) => `${MARKS[kind]}${text}`),
      );
    [fromLine, toLine, i] = [fromLine + fromCount, toLine + toCount, i + part.length];
  }
  return hunks;
}

const MARKS = { Same: ' ', Removed: '-', Added: '+' } as const;

/** An empty span names the line before it. */
function spanOf(first: number, count: number): string {
  return `${count === 0 ? first - 1 : first},${count}`;
}

function removed(text: string): DiffLine {
  return { kind: 'Removed', text };
}

function added(text: string): DiffLine {
  return { kind: 'Added', text };
}

/**
 * For each number of differences d, how far d - 1 of them lead in the first text on each diagonal k, at the index k + d + 1.
 * Undefined past the limit.
 */
function shortestTrace(from: readonly string[], to: readonly string[]): Int32Array[] | undefined {
  const trace: Int32Array[] = [];
  let furthest = new Int32Array(3);
  for (let d = 0; d <= DIFFERENCES_MAX; d++) {
    trace.push(furthest);
    const next = new Int32Array(2 * d + 5);
    for (let k = -d; k <= d; k += 2) {
      let { x } = d === 0 ? { x: 0 } : taken(furthest, d, k);
      while (x < from.length && x - k < to.length && from[x] === to[x - k]) x++;
      if (x >= from.length && x - k >= to.length) return trace;
      next[k + d + 2] = x;
    }
    furthest = next;
  }
  return undefined;
}

/** Where the d-th difference leads to on diagonal k. */
function taken(
  furthest: Int32Array,
  d: number,
  k: number,
): { readonly x: number; readonly isAdded: boolean } {
  const at = k + d + 1;
  const [left, right] = [furthest[at - 1]!, furthest[at + 1]!];
  const isAdded = k === -d || (k !== d && left < right);
  return { x: isAdded ? right : left + 1, isAdded };
}

function stepBefore(furthest: Int32Array, d: number, k: number): { readonly x: number; readonly y: number } {
  if (d === 0) return { x: 0, y: 0 };
  const { x, isAdded } = taken(furthest, d, k);
  return isAdded ? { x, y: x - k - 1 } : { x: x - 1, y: x - k };
}
