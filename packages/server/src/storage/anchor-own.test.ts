// The anchor of a service that is alone on its data directory, also where nodes have served its logs from a database.

import assert from 'node:assert/strict';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import type { AnchoredHead } from '../streams/anchor.ts';
import { readAnchor } from './anchor-form.ts';
import { openNodesAnchor, openOwnAnchor } from './anchor-nodes.ts';

const ORIGIN = 'audit.example.com/t/acme';
const head = (size: number): AnchoredHead => ({ origin: ORIGIN, size, root: new Uint8Array(32).fill(size) });
const headsIn = (file: string) => [...readAnchor(readFileSync(file)).heads.values()];

let directory: string;
before(() => {
  directory = mkdtempSync(join(tmpdir(), 'tallystick-anchor-'));
});
after(() => rmSync(directory, { recursive: true }));

test('a service that is alone again knows what nodes have anchored, and writes its own file', async () => {
  {
    await using own = await openOwnAnchor(directory);
    await own.append([head(3)]);
  }
  {
    await using node = await openNodesAnchor({ directory, node: 'a' });
    await node.append([head(5)]);
  }
  await using own = await openOwnAnchor(directory);
  assert.deepEqual(own.heads().get(ORIGIN), head(5));
  assert.deepEqual((await own.history()).get(ORIGIN), [head(3), head(5)]);
  await own.append([head(7)]);
  assert.deepEqual(headsIn(join(directory, 'anchor')), [head(7)]);
  assert.deepEqual(headsIn(join(directory, 'anchor-a')), [head(5)]);
});

test('a service that is alone may have its anchor as a file of any name', async () => {
  const file = join(directory, 'kept-apart');
  await using own = await openOwnAnchor(file);
  await own.append([head(3)]);
  assert.deepEqual(headsIn(file), [head(3)]);
});
