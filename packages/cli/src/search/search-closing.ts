// The last line of a search: how many were found, how many of them are shown, and how far the index was behind.

export interface SearchResult {
  readonly shown: number;
  readonly total: number;
  /** Whether `total` is all of them, and not only a lower bound. */
  readonly isExact: boolean;
  /** Whether the last page was reached. */
  readonly isWhole: boolean;
  readonly lagMs: number;
  /** The tenant has no log. */
  readonly isUnknown: boolean;
}

export function closingLine(result: SearchResult, tenant: string): string {
  return `${foundIn(result, tenant)}${lagIn(result)}.`;
}

function foundIn({ shown, total, isExact, isWhole, isUnknown }: SearchResult, tenant: string): string {
  if (isUnknown) return `0 events found: nothing was ever written to the log of ${tenant}`;
  // Who has walked to the end knows more than a lower bound.
  if (isWhole && (!isExact || shown >= total)) return `${countedEvents(shown)} found`;
  if (isWhole) return `${shown} of ${countedEvents(total)} shown`;
  const all = isExact
    ? countedEvents(Math.max(total, shown))
    : `at least ${countedEvents(Math.max(total, shown + 1))}`;
  return `${shown} of ${all} shown; --limit <n> or --all shows more`;
}

function lagIn({ lagMs }: SearchResult): string {
  return lagMs === 0 ? '' : `; the index is ${lagMs} ms behind the log, so the newest may be missing`;
}

function countedEvents(count: number): string {
  return count === 1 ? '1 event' : `${count} events`;
}
