import assert from 'node:assert/strict';
import { test } from 'node:test';
import { inOrder } from './in-order.ts';

async function* of<T>(...items: readonly T[]): AsyncGenerator<T> {
  yield* items;
}

async function taken<T>(items: AsyncIterable<T>): Promise<T[]> {
  const all: T[] = [];
  for await (const item of items) all.push(item);
  return all;
}

test('results come in the order of arrival, whatever is done first', async () => {
  const first = Promise.withResolvers<string>();
  const results = inOrder(
    of('a', 'b'),
    async (item) => {
      if (item === 'a') return first.promise;
      first.resolve('a');
      return item;
    },
    2,
  );
  assert.deepEqual(await taken(results), ['a', 'b']);
});

test('no more is taken than is worked on', async () => {
  let [atWork, most] = [0, 0];
  const work = async (item: number) => {
    most = Math.max(most, ++atWork);
    await new Promise((resolve) => setImmediate(resolve));
    atWork--;
    return item;
  };
  assert.deepEqual(await taken(inOrder(of(1, 2, 3, 4, 5), work, 2)), [1, 2, 3, 4, 5]);
  assert.equal(most, 2);
});

test('a result comes while the next item is awaited', async () => {
  const never = new Promise<never>(() => {});
  async function* one() {
    yield 1;
    yield await never;
  }
  const { value } = await inOrder(one(), async (item) => item, 2).next();
  assert.equal(value, 1);
});

test('an error of the items comes after the results before it, an error of the work in its place', async () => {
  async function* broken() {
    yield 1;
    throw new Error('broken off');
  }
  const seen: number[] = [];
  await assert.rejects(async () => {
    for await (const each of inOrder(broken(), async (item) => item, 2)) seen.push(each);
  }, /broken off/);
  assert.deepEqual(seen, [1]);
  const refuse = async (item: number) => {
    if (item === 2) throw new Error('refused');
    return item;
  };
  const results = inOrder(of(1, 2, 3), refuse, 3);
  assert.equal((await results.next()).value, 1);
  await assert.rejects(results.next(), /refused/);
});
