// Shares a quantity fairly: each gets as much as any other, and the part that one does not need goes to the others. Or splits a list into
// portions.

/** `take` returns the amount taken of the amount offered. One that took less gets no further offers. Returns the amount left. */
export async function splitFairly<T>(
  takers: readonly T[],
  amount: number,
  take: (taker: T, most: number) => Promise<number>,
): Promise<number> {
  let left = amount;
  let remaining = takers;
  while (left > 0 && remaining.length > 0) {
    const share = Math.ceil(left / remaining.length);
    const next: T[] = [];
    for (const taker of remaining) {
      if (left === 0) return 0;
      const most = Math.min(share, left);
      const had = await take(taker, most);
      left -= had;
      if (had === most) next.push(taker);
    }
    remaining = next;
  }
  return left;
}

export function portionsOf<T>(items: readonly T[], max: number): T[][] {
  return Array.from({ length: Math.ceil(items.length / max) }, (_, i) => items.slice(i * max, (i + 1) * max));
}
