// Logs of other projects, opened and recomputed: what another implementation has written must read here.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { openCheckpoint, parseCheckpoint } from './checkpoint.ts';
import { CompactRange } from '../tree/compact-range.ts';
import { cosignatureVerifier, verifyCosignatures } from './cosignature.ts';
import { decodeEntryBundle } from '../tree/entry-bundle.ts';
import { noteVerifier, openNote, parseNote } from './note.ts';
import { proveRange, treeRoot, proveConsistency, proveInclusion } from '../tree/prove.ts';
import { verifyRange } from '../testing/verify-range.ts';
import { skipWithout, vectorBytes, vectorText } from '../testing/public-vectors.ts';
import { refusal } from '../testing/refusal.ts';
import { tileHashReader } from '../tree/tile-reader.ts';
import { decodeTile, encodeTile, formatTilePath, tilesOf } from '../tree/tiles.ts';
import { leafHash } from '../tree/tree.ts';
import { verifyConsistency } from '../tree/tree-proof.ts';
import { verifyInclusion } from '../tree/verify-inclusion.ts';

const TESSERA = 'tessera/testdata/log';
const TESSERA_ORIGIN = 'example.com/log/testdata';
const TESSERA_KEY = 'example.com/log/testdata+33d7b496+AeHTu4Q3hEIMHNqc6fASMsq3rKNx280NI+oO5xCFkkSx';

async function tesseraCheckpoints() {
  const verifiers = [await noteVerifier(TESSERA_KEY)];
  return Promise.all(
    Array.from({ length: 16 }, (_, size) =>
      openCheckpoint(vectorText(`${TESSERA}/checkpoint.${size}`), { origin: TESSERA_ORIGIN, verifiers }),
    ),
  );
}

const tesseraReader = (size: number) =>
  tileHashReader(size, (tile) => vectorBytes(`${TESSERA}/${formatTilePath(tile)}`));

test("opens the 16 checkpoints of Tessera's log", { skip: skipWithout(TESSERA) }, async () => {
  const checkpoints = await tesseraCheckpoints();
  assert.deepEqual(
    checkpoints.map(({ size }) => size),
    Array.from({ length: 16 }, (_, size) => size),
  );
  assert.equal(vectorText(`${TESSERA}/checkpoint`), vectorText(`${TESSERA}/checkpoint.15`));
});

test("recomputes the roots of Tessera's log from its tiles and from its entries", {
  skip: skipWithout(TESSERA),
}, async () => {
  let compared = 0;
  for (const { size, root } of await tesseraCheckpoints()) {
    assert.deepEqual(treeRoot(size, tesseraReader(size)), root);
    if (size === 0) continue;
    const entries = decodeEntryBundle(
      vectorBytes(`${TESSERA}/${formatTilePath({ level: 'entries', index: 0, width: size })}`),
      size,
    );
    assert.deepEqual(CompactRange.of(0, entries.map(leafHash)).root(), root);
    compared++;
  }
  assert.equal(compared, 15);
});

test("proves each checkpoint of Tessera's log to extend each before it, and every entry in each", {
  skip: skipWithout(TESSERA),
}, async () => {
  const checkpoints = await tesseraCheckpoints();
  let pairs = 0;
  for (const { size: to, root: toRoot } of checkpoints) {
    const read = tesseraReader(to);
    for (let index = 0; index < to; index++) {
      const proof = proveInclusion(index, to, read);
      verifyInclusion({ leaf: read(0, index), index, size: to, proof, root: toRoot });
    }
    for (const { size: from, root: fromRoot } of checkpoints.slice(1, to + 1)) {
      verifyConsistency({ from, fromRoot, to, toRoot, proof: proveConsistency(from, to, read) });
      pairs++;
    }
  }
  assert.equal(pairs, 120);
});

const SUNLIGHT = 'sunlight/cmd/skylight/testdata/witness';
const SUNLIGHT_LOG = '000de184301123b9278c086a7d9f68c9577e83872224c197058fd90784ea9706';
const MIRROR = `${SUNLIGHT}/mirror/${SUNLIGHT_LOG}`;

function publishedKey(path: string): string {
  const { verifier_keys: keys }: { verifier_keys: string[] } = JSON.parse(vectorText(path));
  assert.equal(keys.length, 1);
  return keys[0]!;
}

test("opens the cosignatures of Sunlight's witness and mirror with their keys", {
  skip: skipWithout(SUNLIGHT),
}, async () => {
  for (const [note, key, others] of [
    [`${SUNLIGHT}/${SUNLIGHT_LOG}/checkpoint`, `${SUNLIGHT}/witness.v0.json`, 1],
    [`${MIRROR}/checkpoint`, `${SUNLIGHT}/mirror/mirror.v0.json`, 0],
  ] as const) {
    const witness = await cosignatureVerifier(publishedKey(key));
    const text = vectorText(note);
    const opened = await openNote(text, [witness]);
    assert.equal(parseNote(text).signatures.length - opened.signatures.length, others);
    assert.deepEqual(await verifyCosignatures(text, { witnesses: [witness], witnessesMin: 1 }), [
      { name: witness.name, keyId: witness.keyId, timeSeconds: 1767139200 },
    ]);
    await assert.rejects(
      verifyCosignatures(text.replace('\n300\n', '\n301\n'), { witnesses: [witness], witnessesMin: 1 }),
      refusal('SIGNATURE_INVALID'),
    );
  }
});

test("recomputes the root of Sunlight's 300 leaves from a full and a partial tile and one of level 1", {
  skip: skipWithout(SUNLIGHT),
}, () => {
  const { size, root, origin } = parseCheckpoint(parseNote(vectorText(`${MIRROR}/checkpoint`)).text);
  assert.equal(origin, 'rome2026h1.example.org');
  assert.equal(size, 300);
  const tiles = [...tilesOf(size)];
  assert.deepEqual(tiles.map(formatTilePath), ['tile/0/000', 'tile/0/001.p/44', 'tile/1/000.p/1']);
  const [full, partial, above] = tiles.map((tile) =>
    decodeTile(vectorBytes(`${MIRROR}/${formatTilePath(tile)}`), tile.width),
  );
  const leaves = [...full!, ...partial!];
  const head = new CompactRange();
  const madeAbove: Uint8Array[] = [];
  for (const leaf of leaves) {
    head.append(leaf, (level, _, hash) => {
      if (level === 8) madeAbove.push(hash);
    });
  }
  assert.deepEqual(head.root(), root);
  assert.deepEqual(encodeTile(madeAbove), encodeTile(above!));
  const read = tileHashReader(size, (tile) => vectorBytes(`${MIRROR}/${formatTilePath(tile)}`));
  assert.deepEqual(treeRoot(size, read), root);
  verifyRange({
    leaves: leaves.slice(200, 280),
    from: 200,
    size,
    proof: proveRange(200, 280, size, read),
    root,
  });
});
