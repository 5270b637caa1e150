// "Did you mean": the known name that takes the fewest single-character changes, if it takes few enough.

const CHANGES_MAX = 3;

export function nearest(name: string, known: readonly string[]): string | undefined {
  let best: string | undefined;
  let bestChanges = CHANGES_MAX + 1;
  for (const candidate of known) {
    const changes = changesBetween(name.toLowerCase(), candidate.toLowerCase());
    if (changes < bestChanges) [best, bestChanges] = [candidate, changes];
  }
  return best;
}

/** Levenshtein's distance, one row at a time. */
function changesBetween(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = row[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      next.push(Math.min(replaced, row[j]! + 1, next[j - 1]! + 1));
    }
    row = next;
  }
  return row[to.length]!;
}
