// Logs that were taken over from another node, while they cannot be compared with that node's anchored heads.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkpointedStores } from '../../testing/checkpointed-store.ts';
import { until } from '../../testing/until.ts';
import type { AnchoredHead } from './anchor.ts';

const { newPlace, open } = checkpointedStores();

test('a log that is taken over is not signed before it was compared, however often that fails', async () => {
  let failures = 0;
  let isTaken = false;
  const elsewhere = new Map<string, AnchoredHead>();
  const store = await open(newPlace(), {
    // Another node has anchored more of acme than there is.
    anchor: (anchor) => ({
      heads: () => new Map([...anchor.heads(), ...elsewhere]),
      forks: () => anchor.forks(),
      refresh: () => anchor.refresh(),
      async history() {
        if (++failures <= 2) throw new Error('not mounted');
        return anchor.history();
      },
      append: (heads) => anchor.append(heads),
      [Symbol.asyncDispose]: async () => {},
    }),
    tree: (tree) => ({
      ...tree,
      async readGrowth() {
        if (elsewhere.size === 0 || isTaken) return tree.readGrowth();
        isTaken = true;
        return { grown: [], faults: [], hasMore: true, taken: await tree.standings() };
      },
    }),
  });
  await store.fill('acme', 3);
  await store.covers('acme', 3);
  const [origin] = store.anchor.heads().keys();
  elsewhere.set(origin!, { origin: origin!, size: 9, root: new Uint8Array(32) });
  await store.fill('acme', 2);
  await until(() => store.checkpointer.refusalOf('acme') !== undefined);
  assert.equal(failures, 3);
  assert.equal((await store.latest('acme'))!.size, 3);
  await store.close();
});
