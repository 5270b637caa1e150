// The index of events in views.db.

import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { claimDecisions } from '../../event-index/testing/decision-claims.ts';
import { claimIndex } from '../../event-index/testing/index-claims.ts';
import { claimRemovals } from '../../event-index/testing/removal-claims.ts';
import { claimUpkeep } from '../../event-index/testing/upkeep-claims.ts';
import { SegmentTables } from './segment-tables.ts';
import { openSqliteIndex } from './testing/index-backend.ts';
import { openViews } from './views-database.ts';

claimIndex(openSqliteIndex);
claimDecisions(openSqliteIndex);
claimRemovals(openSqliteIndex);
claimUpkeep(openSqliteIndex);

test('space that removed blocks have left is given back, some at a time', () => {
  const directory = mkdtempSync(join(tmpdir(), 'tallystick-index-'));
  try {
    using views = openViews(directory).db;
    const store = new SegmentTables(views);
    const blocks = Array.from({ length: 100 }, (_, i) => ({ block: i, bytes: Buffer.alloc(80_000) }));
    store.put('acme', store.newSegment(), blocks);
    store.remove('acme', 1);
    const pages = () => Number(views.prepare('PRAGMA page_count').get()?.['page_count']);
    const before = pages();
    store.giveBackSpace();
    assert.ok(pages() <= before - 500 && pages() > before - 510, `${pages()} of ${before} pages are left`);
    for (let i = 0; i < 10; i++) store.giveBackSpace();
    assert.ok(pages() <= 1100, `${pages()} pages are left`);
  } finally {
    rmSync(directory, { recursive: true });
  }
});
