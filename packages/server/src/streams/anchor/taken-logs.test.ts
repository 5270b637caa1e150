// A node takes over logs from another node at runtime.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, test } from 'node:test';
import { createSigning } from '../../keys/signing.ts';
import { systemClock } from '../../runtime/clock.ts';
import { createSystemRandom } from '../../runtime/random.ts';
import { openOwnAnchor } from '../../storage/anchor/file-anchor.ts';
import { append, draftOf, NOW_MS, request } from '../../storage/conformance/claims.ts';
import { openSigningKeys } from '../../storage/keys/signing-key-files.ts';
import { openPlainStore } from '../../testing/plain-store.ts';
import { createTelemetry } from '../../telemetry.ts';
import { until } from '../../testing/until.ts';
import type { Anchor } from './anchor.ts';
import { createCheckpointer } from '../checkpoints/checkpointer.ts';
import type { Growth, Standing } from '../tree.ts';

const folder = mkdtempSync(join(tmpdir(), 'tallystick-taken-'));
after(() => rmSync(folder, { recursive: true }));

/** A node with a log of five signed entries, and a way to hand it logs of another node. */
async function open() {
  await using opening = new AsyncDisposableStack();
  const directory = mkdtempSync(join(folder, 'data-'));
  const random = createSystemRandom();
  const storage = opening.use(await openPlainStore(directory));
  const told: Growth[] = [];
  const { tree } = storage;
  const node = {
    storage,
    taken: (standing: Standing) => told.push({ grown: [], faults: [], hasMore: true, taken: [standing] }),
    history: (anchor: Anchor) => anchor.history(),
    beforeRead: async () => {},
  };
  const signing = createSigning(systemClock);
  signing.use(await openSigningKeys(directory, NOW_MS));
  const file = opening.use(await openOwnAnchor(directory));
  const checkpointer = opening.use(
    createCheckpointer({
      tree: {
        standings: () => tree.standings(),
        stopAt: (tenant, size) => tree.stopAt(tenant, size),
        confirm: () => tree.confirm(),
        publish: (logs, nowMs) => tree.publish(logs, nowMs),
        newestSizes: (tenants) => tree.newestSizes(tenants),
        cosign: (checkpoints) => tree.cosign(checkpoints),
        forTenant: (tenant) => tree.forTenant(tenant),
        async readGrowth() {
          const next = told.shift();
          if (next === undefined) await node.beforeRead();
          return next ?? (await tree.readGrowth());
        },
      },
      anchor: {
        heads: () => file.heads(),
        forks: () => file.forks(),
        history: () => node.history(file),
        refresh: () => file.refresh(),
        append: (heads) => file.append(heads),
        [Symbol.asyncDispose]: async () => {},
      },
      signing,
      clock: systemClock,
      random,
      telemetry: createTelemetry({
        level: 'Error',
        form: 'json',
        secrets: [],
        clock: systemClock,
        write: () => {},
      }),
      intervalMs: 5,
    }),
  );
  await storage.tenants.ensure('acme', NOW_MS);
  const fill = () =>
    append(
      storage,
      request(
        'acme',
        Array.from({ length: 5 }, () => draftOf()),
      ),
    );
  await fill();
  await checkpointer.settle(storage.logOrigin);
  checkpointer.start();
  const signedSize = async () => (await (await tree.forTenant('acme').tree())?.latest())?.size;
  await until(async () => (await signedSize()) === 5);
  const [standing] = await tree.standings();
  const stack = opening.move();
  return {
    ...node,
    node,
    checkpointer,
    fill,
    signedSize,
    standing: standing!,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

test('a log that is taken over accepts writes while it is compared, as at every other node', async () => {
  await using store = await open();
  const { node, standing, checkpointer, taken } = store;
  const compared = Promise.withResolvers<void>();
  const goOn = Promise.withResolvers<void>();
  node.beforeRead = () => {
    compared.resolve();
    return goOn.promise;
  };
  // The previous node has anchored the checkpoint, but not stored it.
  taken({ ...standing, checkpoint: undefined });
  await compared.promise;
  const refusals = [checkpointer.refusalOf('acme'), ...checkpointer.refusedTenants()];
  goOn.resolve();
  assert.deepEqual(refusals, [undefined]);
});
