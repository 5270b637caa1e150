// The committed reference says what is served. UPDATE_REFERENCE=1 writes the page instead.

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { test } from 'node:test';
import { renderReference } from './reference.ts';

const page = new URL('../../../../../docs/reference/grpc.md', import.meta.url);

test('docs/reference/grpc.md is what is served (UPDATE_REFERENCE=1 writes it)', () => {
  if (process.env['UPDATE_REFERENCE'] === '1') writeFileSync(page, renderReference());
  assert.equal(readFileSync(page, 'utf8'), renderReference());
});
