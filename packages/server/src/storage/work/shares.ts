// What is to be had, shared among those who want some of it: each gets as much as any other, and what one does not need goes
// to the others.

/** `take` gives how much was had of what was offered. Nobody is offered more once they have had less. */
export async function shared<T>(
  takers: readonly T[],
  amount: number,
  take: (taker: T, most: number) => Promise<number>,
): Promise<void> {
  let left = amount;
  let hungry = takers;
  while (left > 0 && hungry.length > 0) {
    const share = Math.ceil(left / hungry.length);
    const next: T[] = [];
    for (const taker of hungry) {
      if (left === 0) return;
      const most = Math.min(share, left);
      const had = await take(taker, most);
      left -= had;
      if (had === most) next.push(taker);
    }
    hungry = next;
  }
}
