import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createFakeClock } from '../../testing/fake-clock.ts';
import { createNewestWitnessed, type NewestWitnessedParts } from './newest-witnessed.ts';
import type { StoredCheckpoint } from '../tree.ts';

/** A log with checkpoints at the sizes from 1 on, with the given numbers of cosignatures. */
function world(
  limits: { checkpointsMax?: number; portion?: number; tenantsMax?: number } = {},
  others?: NewestWitnessedParts['others'],
) {
  const cosigners = new Map<number, number>();
  const asked: number[] = [];
  const noteOf = (size: number) => `${size} by ${cosigners.get(size) ?? 0}`;
  const checkpoint = (size: number): StoredCheckpoint => ({ size, note: noteOf(size), publishedAtMs: 1 });
  const newest = createNewestWitnessed({
    witnessed: { isWitnessed: (note) => note.endsWith('by 2') },
    trees: {
      forTenant: () => ({
        async cosigned({ size: below }, limit) {
          asked.push(below);
          await new Promise((resolve) => setImmediate(resolve));
          const sizes = Array.from(
            { length: Math.max(0, Math.min(limit, below - 1)) },
            (_, i) => below - 1 - i,
          );
          const cosigned = sizes.filter((size) => cosigners.has(size)).map(checkpoint);
          return { cosigned, lookedTo: sizes.at(-1) };
        },
      }),
    },
    limits: { portion: 10, ...limits },
    ...(others && { others }),
  });
  const head = (size: number, epoch = 0) => ({
    origin: `log/t/acme/${epoch}`,
    epoch,
    firstIndex: 0,
    latest: size === 0 ? undefined : checkpoint(size),
  });
  const cosign = (size: number, by: number, tenant = 'acme') => {
    cosigners.set(size, by);
    newest.cosigned({ tenant, epoch: 0, size, note: noteOf(size) });
  };
  return { newest, asked, cosigners, head, cosign };
}

test('the newest checkpoint is used if enough witnesses have cosigned it, without reading others', async () => {
  const { newest, asked, cosigners, head } = world();
  cosigners.set(90, 2);
  assert.equal(await newest.sizeOf('acme', head(90)), 90);
  assert.equal(await newest.sizeOf('acme', head(95)), 90);
  assert.deepEqual(asked, []);
  assert.deepEqual(newest.known('acme'), [{ epoch: 0, size: 90 }]);
});

test('after a start the store is searched once, down to the newest with a quorum', async () => {
  const { newest, asked, cosigners, head } = world();
  for (const [size, by] of [
    [33, 2],
    [71, 2],
    [75, 1],
  ] as const)
    cosigners.set(size, by);
  const found = await Promise.all([newest.sizeOf('acme', head(100)), newest.sizeOf('acme', head(101))]);
  assert.deepEqual(found, [71, 71]);
  assert.deepEqual(asked, [100, 90, 80]);
  assert.equal(await newest.sizeOf('acme', head(120)), 71);
  assert.equal(asked.length, 3, 'what is known is not looked for again');
});

test('an empty result is remembered too, until a witness cosigns', async () => {
  const { newest, asked, head, cosign } = world();
  assert.equal(await newest.sizeOf('acme', head(0)), 0);
  assert.equal(await newest.sizeOf('acme', head(15)), 0);
  assert.equal(await newest.sizeOf('acme', head(16)), 0);
  assert.deepEqual(asked, [15, 5, 1]);
  cosign(15, 1);
  assert.equal(await newest.sizeOf('acme', head(16)), 0, 'one is not enough');
  cosign(15, 2);
  assert.equal(await newest.sizeOf('acme', head(17)), 15);
  assert.equal(asked.length, 3);
});

test('a cosignature that arrives during the search counts', async () => {
  const { newest, cosigners, head, cosign } = world();
  cosigners.set(3, 2);
  const looking = newest.sizeOf('acme', head(100));
  cosign(99, 2);
  assert.equal(await looking, 99);
});

test('where other nodes ask witnesses too, the search is repeated after a while, down to the known size', async () => {
  const clock = createFakeClock(0);
  let areThere = true;
  const { newest, asked, cosigners, head } = world({}, { areThere: () => areThere, clock });
  cosigners.set(90, 2);
  assert.equal(await newest.sizeOf('acme', head(100)), 90);
  assert.deepEqual(asked.splice(0), [100]);
  cosigners.set(140, 2);
  assert.equal(await newest.sizeOf('acme', head(150)), 90, 'not each time');
  await clock.advance(2001);
  assert.equal(await newest.sizeOf('acme', head(150)), 140);
  assert.deepEqual(asked.splice(0), [150]);
  await clock.advance(2001);
  assert.equal(await newest.sizeOf('acme', head(155)), 140);
  assert.deepEqual(asked.splice(0), [155, 145]);
  areThere = false;
  await clock.advance(2001);
  assert.equal(await newest.sizeOf('acme', head(156)), 140);
  assert.deepEqual(asked, []);
});

test('the search is limited, and unused logs are forgotten', async () => {
  const { newest, asked, cosigners, head, cosign } = world({ checkpointsMax: 30, tenantsMax: 2 });
  cosigners.set(3, 2);
  assert.equal(await newest.sizeOf('acme', head(100)), 0);
  assert.deepEqual(asked, [100, 90, 80]);
  for (const tenant of ['other', 'third']) cosign(5, 2, tenant);
  assert.deepEqual([newest.known('acme'), newest.known('third')], [[], [{ epoch: 0, size: 5 }]]);
});

test('a failed search is repeated by the next call', async () => {
  let isBroken = true;
  const newest = createNewestWitnessed({
    witnessed: { isWitnessed: () => false },
    trees: {
      forTenant: () => ({
        cosigned: () =>
          isBroken
            ? Promise.reject(new Error('no disk'))
            : Promise.resolve({ cosigned: [], lookedTo: undefined }),
      }),
    },
  });
  const latest = { size: 9, note: '', publishedAtMs: 1 };
  const head = { origin: 'log/t/acme', epoch: 0, firstIndex: 0, latest };
  await assert.rejects(newest.sizeOf('acme', head), /no disk/);
  isBroken = false;
  assert.equal(await newest.sizeOf('acme', head), 0);
});
