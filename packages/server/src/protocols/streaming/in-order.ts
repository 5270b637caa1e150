// Work on what arrives, begun before the work before it is done, with the results in the order of arrival. No more is taken than
// is worked on, so a sender of too much is held.

/** `max` are worked on at a time. An error of the items comes after the results of those before it. */
export async function* inOrder<T, R>(
  items: AsyncIterable<T>,
  work: (item: T, index: number) => Promise<R>,
  max: number,
): AsyncGenerator<R, void> {
  const source = items[Symbol.asyncIterator]();
  const begun: Promise<R>[] = [];
  let index = 0;
  let isOver = false;
  let failure: { readonly error: unknown } | undefined;
  const take = async () => {
    try {
      const { done, value } = await source.next();
      if (done === true) isOver = true;
      else {
        const result = work(value, index++);
        // It is awaited in its turn, or never.
        result.catch(() => {});
        begun.push(result);
      }
    } catch (error) {
      isOver = true;
      failure = { error };
    }
    taking = undefined;
  };
  let taking: Promise<void> | undefined;
  try {
    for (;;) {
      if (!isOver && taking === undefined && begun.length < max) taking = take();
      const [first] = begun;
      if (first === undefined) {
        if (taking === undefined) break;
        await taking;
        continue;
      }
      const result = await Promise.race([first.then((value) => ({ value })), ...(taking ? [taking] : [])]);
      if (result === undefined) continue;
      void begun.shift();
      yield result.value;
    }
    if (failure !== undefined) throw failure.error;
  } finally {
    // It may hang until its sender is gone.
    void source.return?.();
  }
}
