// "Did you mean": the known name that takes the fewest single changes, if it takes few enough. A change is a letter too
// many, one too few, another one, or two that have changed places; upper and lower case do not count.

const CHANGES_MAX = 3;

export function nearest(
  name: string,
  known: readonly string[],
  changesMax: (candidate: string) => number = () => CHANGES_MAX,
): string | undefined {
  let best: string | undefined;
  let bestChanges = Number.POSITIVE_INFINITY;
  for (const candidate of known) {
    const changes = changesBetween(name.toLowerCase(), candidate.toLowerCase());
    if (changes < bestChanges && changes <= changesMax(candidate)) [best, bestChanges] = [candidate, changes];
  }
  return best;
}

/** Levenshtein's distance with exchanges of neighbours, one row at a time. */
function changesBetween(from: string, to: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: to.length + 1 }, (_, i) => i);
  for (let i = 1; i <= from.length; i++) {
    const row = [i];
    for (let j = 1; j <= to.length; j++) {
      const replaced = last[j - 1]! + (from[i - 1] === to[j - 1] ? 0 : 1);
      const isExchanged = i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1];
      const exchanged = isExchanged ? beforeLast[j - 2]! + 1 : replaced;
      row.push(Math.min(replaced, exchanged, last[j]! + 1, row[j - 1]! + 1));
    }
    [beforeLast, last] = [last, row];
  }
  return last[to.length]!;
}
