import assert from 'node:assert/strict';
import {
  appendFileSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { StartError } from '../../start-error.ts';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';
import { anchorFolder, head, manyHeads, ORIGIN } from '../../testing/anchor-folder.ts';
import { failing, meanwhile } from '../../testing/failing-disk.ts';
import { openNodesAnchor, openOwnAnchor, readAnchorAt } from './file-anchor.ts';
import { ANCHOR_FILE } from './files.ts';
import { FIRST_LINE, readAnchor } from './format.ts';

const SEED = 20261116;

async function headsIn(place: string): Promise<AnchoredHead[]> {
  await using anchor = await openOwnAnchor(place);
  return [...anchor.heads().values()];
}

/** As they are in the file. */
function headsOf(file: string): AnchoredHead[] {
  return [...readAnchor(readFileSync(file)).heads.values()];
}

test('is created empty, readable by its owner only, and stays empty until something is anchored', async () => {
  using directory = anchorFolder();
  for (let start = 0; start < 2; start++) {
    await using anchor = await openOwnAnchor(directory.path);
    assert.equal(anchor.heads().size, 0);
  }
  assert.deepEqual(readdirSync(directory.path), [ANCHOR_FILE]);
  assert.equal(statSync(directory.file).mode & 0o777, 0o600);
  assert.equal(readFileSync(directory.file, 'utf8'), FIRST_LINE);
  {
    await using anchor = await openOwnAnchor(directory.path);
    await anchor.append([head(1)]);
    assert.equal(anchor.heads().size, 1);
  }
  await using anchor = await openOwnAnchor(directory.path);
  assert.equal(anchor.heads().size, 1);
});

test('knows older heads, also those of an earlier start', async () => {
  using directory = anchorFolder();
  for (const sizes of [
    [1, 2],
    [3, 5],
  ]) {
    await using anchor = await openOwnAnchor(directory.path);
    for (const size of sizes) await anchor.append([head(size)]);
    await anchor.append([head(sizes[0]!, 'b')]);
  }
  await using anchor = await openOwnAnchor(directory.path);
  assert.deepEqual(
    [...(await anchor.history()).values()],
    [
      [head(1), head(2), head(3), head(5)],
      [head(1, 'b'), head(3, 'b')],
    ],
  );
});

test('concurrent creation leaves one complete file', async () => {
  using directory = anchorFolder();
  const anchors = await Promise.all(Array.from({ length: 8 }, () => openOwnAnchor(directory.path)));
  for (const anchor of anchors) await anchor[Symbol.asyncDispose]();
  assert.deepEqual(readdirSync(directory.path), [ANCHOR_FILE]);
});

test('the place is a directory, a file, or a link to a file', async () => {
  using directory = anchorFolder();
  const file = join(directory.path, 'heads.txt');
  {
    await using anchor = await openOwnAnchor(file);
    await anchor.append([head(5)]);
  }
  symlinkSync(file, join(directory.path, 'link'));
  assert.deepEqual(await headsIn(join(directory.path, 'link')), [head(5)]);
  mkdirSync(join(directory.path, 'sub'));
  assert.deepEqual(await headsIn(join(directory.path, 'sub')), []);
  assert.deepEqual(readdirSync(join(directory.path, 'sub')), [ANCHOR_FILE]);
});

test('an unusable place is refused, and its directory is not created', async () => {
  using directory = anchorFolder();
  for (const place of ['missing/anchor', 'missing/']) {
    await assert.rejects(openOwnAnchor(join(directory.path, place)), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(error.message, /ENOENT; see Log__Anchor/);
      return true;
    });
  }
  assert.deepEqual(readdirSync(directory.path), []);
  await assert.rejects(openOwnAnchor('/dev/null'), /it is not a file/);
  writeFileSync(directory.file, 'something else\n');
  await assert.rejects(openOwnAnchor(directory.path), /line 1 .* not an anchor/);
  writeFileSync(directory.file, '');
  await assert.rejects(openOwnAnchor(directory.path), StartError);
  assert.equal(readFileSync(directory.file, 'utf8'), '');
});

test('appended heads survive every restart, the newest of each origin', async () => {
  using directory = anchorFolder();
  for (const size of [1, 2, 3]) {
    await using anchor = await openOwnAnchor(directory.path);
    await anchor.append([head(size), head(size * 2, 'b'), head(size * 2 + 1, 'b')]);
  }
  assert.deepEqual(await headsIn(directory.path), [head(3), head(7, 'b')]);
});

test('never goes back and never forks, and such an append anchors nothing', async () => {
  using directory = anchorFolder();
  await using anchor = await openOwnAnchor(directory.path);
  await anchor.append([head(5)]);
  const before = readFileSync(directory.file);
  const other = head(9, 'other');
  await assert.rejects(
    anchor.append([other, head(4)]),
    /t\/acme is anchored at size 5; it cannot go back to 4/,
  );
  await assert.rejects(
    anchor.append([other, head(5, ORIGIN, 6)]),
    /t\/acme is anchored at size 5 with another root/,
  );
  await assert.rejects(anchor.append([other, head(8, 'other')]), /other is anchored at size 9/);
  await assert.rejects(anchor.append([other, head(6, 'not an origin')]), /origin/);
  assert.deepEqual(readFileSync(directory.file), before);
  assert.deepEqual([...anchor.heads().values()], [head(5)]);
  await anchor.append([head(5)]);
  assert.deepEqual(readFileSync(directory.file), before, 'what is anchored already is not written again');
  await anchor.append([other, head(6)]);
  assert.deepEqual([...anchor.heads().values()], [head(6), other]);
});

test('keeps copies of the heads, even if the caller changes the bytes', async () => {
  using directory = anchorFolder();
  await using anchor = await openOwnAnchor(directory.path);
  const given = head(1);
  await anchor.append([given]);
  given.root.fill(99);
  assert.deepEqual([...anchor.heads().values()], [head(1)]);
});

test('concurrent appends run one after the other', async () => {
  using directory = anchorFolder();
  {
    await using anchor = await openOwnAnchor(directory.path);
    const appends = Array.from({ length: 50 }, (_, i) => anchor.append([head(i + 1)]));
    const late = anchor.append([head(7)]);
    await Promise.all(appends);
    await assert.rejects(late, /cannot go back/);
  }
  assert.deepEqual(await headsIn(directory.path), [head(50)]);
});

test('a record that is cut at any byte is removed, and the next append follows the rest', async () => {
  using directory = anchorFolder();
  {
    await using anchor = await openOwnAnchor(directory.path);
    await anchor.append([head(1, 'b')]);
    await anchor.append([head(2, 'b')]);
  }
  const whole = readFileSync(directory.file);
  const { lastAt } = readAnchor(whole);
  for (let length = lastAt; length < whole.length; length++) {
    writeFileSync(directory.file, whole.subarray(0, length));
    {
      await using anchor = await openOwnAnchor(directory.path);
      assert.equal(statSync(directory.file).size, lastAt);
      assert.deepEqual([...anchor.heads().values()], [head(1, 'b')]);
      if (length % 10 === 0) await anchor.append([head(3, 'b')]);
    }
    if (length % 10 === 0) assert.deepEqual(await headsIn(directory.path), [head(3, 'b')]);
  }
});

test('damage is refused with the line, and the file is left as it is', async () => {
  using directory = anchorFolder();
  {
    await using anchor = await openOwnAnchor(directory.path);
    for (const size of [1, 2, 3]) await anchor.append([head(size)]);
  }
  const whole = readFileSync(directory.file);
  for (let at = 0; at < whole.length; at += 3) {
    const changed = Buffer.from(whole);
    changed[at]! ^= 1 << (at % 8);
    writeFileSync(directory.file, changed);
    await assert.rejects(openOwnAnchor(directory.path), (error) => {
      assert.ok(error instanceof StartError);
      assert.match(
        error.message,
        /\/anchor: line \d+ .*; put back an undamaged copy.*recover --accept-lost-anchor/,
      );
      return true;
    });
    assert.deepEqual(readFileSync(directory.file), changed);
  }
});

for (const [method, code] of [
  ['write', 'ENOSPC'],
  ['sync', 'EIO'],
] as const) {
  test(`${code} in ${method}: the append fails, and the next one finds the file as it was`, async () => {
    using directory = anchorFolder();
    {
      await using anchor = await openOwnAnchor(directory.path);
      await anchor.append([head(1)]);
      {
        using _ = await failing(method, code);
        await assert.rejects(anchor.append([head(2), head(2, 'b')]), { code });
      }
      assert.deepEqual([...anchor.heads().values()], [head(1)]);
      // The first repair attempt fails too.
      {
        using _ = await failing('truncate', code);
        await assert.rejects(anchor.append([head(3)]), { code });
      }
      await anchor.append([head(3)]);
    }
    assert.deepEqual(await headsIn(directory.path), [head(3)]);
  });

  test(`${code} in ${method}, then a crash: the file opens as before or after`, async () => {
    using directory = anchorFolder();
    {
      await using anchor = await openOwnAnchor(directory.path);
      await anchor.append([head(1)]);
      using _ = await failing(method, code);
      await assert.rejects(anchor.append([head(2)]), { code });
    }
    const [found] = await headsIn(directory.path);
    assert.ok(found?.size === 1 || found?.size === 2);
  });
}

test('one append is one fsync, however many heads', async () => {
  using directory = anchorFolder();
  await using anchor = await openOwnAnchor(directory.path);
  using counted = await failing('sync', 'never', Number.POSITIVE_INFINITY);
  await anchor.append(manyHeads(1));
  assert.equal(counted.calls(), 1);
});

test('a file that vanished, moved or was replaced fails the append, and is not created again', async () => {
  using directory = anchorFolder();
  await using anchor = await openOwnAnchor(directory.path);
  await anchor.append([head(1)]);
  const aside = join(directory.path, 'aside');
  renameSync(directory.file, aside);
  await assert.rejects(anchor.append([head(2)]), /no longer the file that was opened/);
  assert.deepEqual(readdirSync(directory.path), ['aside']);
  writeFileSync(directory.file, readFileSync(aside));
  await assert.rejects(anchor.append([head(2)]), /no longer the file that was opened/);
  renameSync(aside, directory.file);
  await anchor.append([head(2)]);
  assert.deepEqual(headsOf(directory.file), [head(2)]);
});

test('a file that is moved away while it is written to fails the append', async () => {
  using directory = anchorFolder();
  await using anchor = await openOwnAnchor(directory.path);
  await anchor.append([head(1)]);
  const aside = join(directory.path, 'aside');
  {
    using _ = await meanwhile('sync', () => renameSync(directory.file, aside));
    await assert.rejects(anchor.append([head(2)]), /no longer the file that was opened/);
  }
  assert.deepEqual([...anchor.heads().values()], [head(1)]);
  renameSync(aside, directory.file);
  await anchor.append([head(3)]);
  assert.deepEqual(headsOf(directory.file), [head(3)]);
});

test('a file that another process wrote to or cut fails the append, and keeps what the other wrote', async () => {
  using directory = anchorFolder();
  await using first = await openOwnAnchor(directory.path);
  await using second = await openOwnAnchor(directory.path);
  await first.append([head(1)]);
  await assert.rejects(second.append([head(5, 'b')]), /changed by another process/);
  await assert.rejects(second.append([head(5, 'b')]), /changed by another process/);
  assert.deepEqual(headsOf(directory.file), [head(1)]);
  truncateSync(directory.file, FIRST_LINE.length);
  await assert.rejects(first.append([head(2)]), /changed by another process/);
  appendFileSync(directory.file, 'x'.repeat(10_000));
  await assert.rejects(first.append([head(2)]), /changed by another process/);
});

test('a service that is alone again knows the heads of the nodes, and writes its own file', async () => {
  using directory = anchorFolder();
  {
    await using own = await openOwnAnchor(directory.path);
    await own.append([head(3)]);
  }
  {
    await using node = await openNodesAnchor({ directory: directory.path, node: 'a' });
    await node.append([head(5)]);
  }
  await using own = await openOwnAnchor(directory.path);
  assert.deepEqual(own.heads().get(ORIGIN), head(5));
  assert.deepEqual((await own.history()).get(ORIGIN), [head(3), head(5)]);
  await own.append([head(7)]);
  assert.deepEqual(headsOf(directory.file), [head(7)]);
  assert.deepEqual(headsOf(join(directory.path, 'anchor-a')), [head(5)]);
});

test('a service that is alone notices the file of a node that appears while it runs', async () => {
  using directory = anchorFolder();
  await using own = await openOwnAnchor(directory.path);
  await own.append([head(3)]);
  {
    await using node = await openNodesAnchor({ directory: directory.path, node: 'a' });
    await node.append([head(5)]);
  }
  await own.append([head(4)]);
  assert.deepEqual(own.heads().get(ORIGIN), head(5));
  assert.deepEqual(headsOf(directory.file), [head(3)], 'less than another has anchored is left out');
});

test('an anchor that is only read makes no file, and knows what is added when it is refreshed', async () => {
  using directory = anchorFolder();
  for (const place of [directory.path, directory.file, join(directory.path, 'missing', 'anchor')]) {
    const read = await readAnchorAt(place);
    assert.deepEqual([read.isMissing, read.heads().size], [true, 0]);
  }
  assert.deepEqual(readdirSync(directory.path), []);
  const read = await readAnchorAt(directory.path);
  await using own = await openOwnAnchor(directory.path);
  await read.refresh();
  assert.deepEqual([read.isMissing, read.heads().size], [false, 0]);
  await own.append([head(3)]);
  await read.refresh();
  assert.deepEqual((await read.history()).get(ORIGIN), [head(3)]);
});

test(`any run of appends, faults, cuts and restarts keeps every answered head (seed ${SEED})`, async () => {
  const step = fc.oneof(
    {
      weight: 5,
      arbitrary: fc.record({ do: fc.constant('append'), origin: fc.constantFrom('a', 'b', 'c') }),
    },
    fc.record({ do: fc.constantFrom('write', 'sync', 'restart'), origin: fc.constantFrom('a', 'b') }),
    fc.record({ do: fc.constant('tear'), origin: fc.constant('a') }),
  );
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
      using directory = anchorFolder();
      const answered = new Map<string, number>();
      let size = 0;
      let anchor = await openOwnAnchor(directory.path);
      for (const { do: what, origin } of steps) {
        size++;
        if (what === 'append') {
          await anchor.append([head(size, origin)]);
          answered.set(origin, size);
        } else if (what === 'write' || what === 'sync') {
          using _ = await failing(what, 'EIO');
          await assert.rejects(anchor.append([head(size, origin)]), { code: 'EIO' });
        } else {
          await anchor[Symbol.asyncDispose]();
          anchor = await openOwnAnchor(directory.path);
          if (what === 'tear') {
            await anchor[Symbol.asyncDispose]();
            appendFileSync(directory.file, `c ${size} AAAA`);
            anchor = await openOwnAnchor(directory.path);
          }
        }
        for (const [known, least] of answered) assert.ok((anchor.heads().get(known)?.size ?? 0) >= least);
      }
      await anchor[Symbol.asyncDispose]();
    }),
    { seed: SEED, numRuns: 30 },
  );
});
