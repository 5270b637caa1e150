import assert from 'node:assert/strict';
import { readdirSync, statSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';
import { anchorFolder, head, manyHeads } from '../../testing/anchor-folder.ts';
import { failing } from '../../testing/failing-disk.ts';
import { openOwnAnchor } from './file-anchor.ts';
import { ANCHOR_FILE } from './files.ts';
import { FIRST_LINE, formatAnchor, formatRecord } from './format.ts';

async function headsIn(place: string): Promise<AnchoredHead[]> {
  await using anchor = await openOwnAnchor(place);
  return [...anchor.heads().values()];
}

const LIMIT_BYTES = 16 * 1024 * 1024;

const large = largeFiles();

/** Files just below and just above the limit, whose newest heads need little of it, and the next size. */
function largeFiles(): { under: string; over: string; size: number } {
  const texts = [FIRST_LINE];
  let closing = FIRST_LINE;
  for (let size = 1, total = FIRST_LINE.length; ; size++) {
    const record = formatRecord(manyHeads(size), closing);
    total += record.text.length;
    if (total > LIMIT_BYTES) return { under: texts.join(''), over: [...texts, record.text].join(''), size };
    texts.push(record.text);
    closing = record.closing;
  }
}

test('a file that has grown far beyond its newest heads is compacted and stays in use', async () => {
  using directory = anchorFolder();
  const { size } = large;
  writeFileSync(directory.file, large.under, { mode: 0o600 });
  {
    await using anchor = await openOwnAnchor(directory.path);
    const heads = anchor.heads();
    assert.ok(statSync(directory.file).size > 15_000_000, 'not yet');
    await anchor.append(manyHeads(size));
    assert.ok(statSync(directory.file).size < 1_000_000);
    assert.equal(anchor.heads(), heads);
    assert.deepEqual(readdirSync(directory.path), [ANCHOR_FILE]);
    assert.equal(statSync(directory.file).mode & 0o777, 0o600);
    await anchor.append([head(1)]);
    await assert.rejects(anchor.append(manyHeads(1)), /cannot go back/);
  }
  const heads = await headsIn(directory.path);
  assert.equal(heads.length, 10_001);
  assert.deepEqual(heads[77], head(size, 'audit.example.com/t/tenant-77'));
});

test('a large file is compacted when it is opened, unless its newest heads need a quarter of it', async () => {
  using directory = anchorFolder();
  writeFileSync(directory.file, large.over);
  assert.deepEqual((await headsIn(directory.path)).slice(0, 2), manyHeads(large.size).slice(0, 2));
  assert.ok(statSync(directory.file).size < 1_000_000);
  const distinct = Array.from({ length: 200_000 }, (_, i) =>
    head(1, `audit.example.com/t/tenant-number-${i}`),
  );
  writeFileSync(directory.file, formatAnchor(distinct));
  const before = statSync(directory.file);
  assert.ok(before.size > LIMIT_BYTES);
  await openOwnAnchor(directory.path).then((anchor) => anchor[Symbol.asyncDispose]());
  assert.equal(statSync(directory.file).ino, before.ino);
});

// The append itself is the first fsync; then come the draft, the folder, the new file and the folder again.
for (const nth of [2, 3, 4, 5]) {
  test(`a compaction whose step ${nth - 1} fails fails no append and loses no head`, async () => {
    using directory = anchorFolder();
    const { size } = large;
    writeFileSync(directory.file, large.under);
    {
      await using anchor = await openOwnAnchor(directory.path);
      {
        using faulty = await failing('sync', 'EIO', nth);
        await anchor.append(manyHeads(size));
        assert.equal(faulty.calls(), nth);
      }
      await anchor.append([head(3)]);
    }
    const heads = await headsIn(directory.path);
    assert.deepEqual([heads[5], heads[10_000]], [head(size, 'audit.example.com/t/tenant-5'), head(3)]);
    assert.deepEqual(readdirSync(directory.path), [ANCHOR_FILE]);
  });
}
