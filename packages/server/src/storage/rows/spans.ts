// Spans of a tenant's sequence.

import type { IndexSpan } from '../../streams/removal/removal.ts';

/** Of spans in order and without overlaps. */
export function isWithin(spans: readonly IndexSpan[], index: number): boolean {
  let [low, high] = [0, spans.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (spans[middle]!.endIndex <= index) low = middle + 1;
    else high = middle;
  }
  return low < spans.length && spans[low]!.firstIndex <= index;
}

export function areOverlapping(a: IndexSpan, b: IndexSpan): boolean {
  return a.firstIndex < b.endIndex && b.firstIndex < a.endIndex;
}
