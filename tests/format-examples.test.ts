// The worked examples of docs/formats, made anew: what the documents say is what the code writes.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import {
  closeUnits,
  contentOf,
  cosigner,
  encodeEntry,
  encodeEntryBundle,
  formatCheckpoint,
  formatEventProof,
  formatEventProofText,
  formatTilePath,
  formatTlogProof,
  genesisHash,
  KINDS,
  leafHash,
  nodeHash,
  noteSigner,
  noteVerifier,
  openEvent,
  parseEventProof,
  proveConsistency,
  proveInclusion,
  proveRange,
  sha256,
  signatureLine,
  signCheckpoint,
  tilesOf,
  toBase64,
  toHex,
  treeRoot,
  unitsOf,
  verifyEventProof,
  withholdContent,
} from '@tallystick/evidence';
import { VECTOR_EVENT } from '../packages/evidence/src/testing/sample-log.ts';
import { spanRoot } from '../packages/evidence/src/tree/prove.ts';
import { ROOT } from './source.ts';

const utf8 = (text: string): Uint8Array => new TextEncoder().encode(text);
const FORMATS = join(ROOT, 'docs', 'formats');
const block = (lines: string[]) => `\n\`\`\`\n${lines.join('\n')}\n\`\`\`\n`;

function assertShows(document: string, ...passages: string[]): void {
  const text = readFileSync(join(FORMATS, document), 'utf8');
  for (const passage of passages) assert.ok(text.includes(passage), `${document} does not show:\n${passage}`);
}

const entries = [...'abcdefg'].map(utf8);
const leaves = entries.map(leafHash);
const read = (level: number, index: number): Uint8Array =>
  level === 0 ? leaves[index]! : nodeHash(read(level - 1, 2 * index), read(level - 1, 2 * index + 1));

const names = new Map([
  ...leaves.map((leaf, index) => [`(0,${index})`, toHex(leaf)] as const),
  ['(1,0)', toHex(read(1, 0))],
  ['(1,1)', toHex(read(1, 1))],
  ['(1,2)', toHex(read(1, 2))],
  ['(2,0)', toHex(read(2, 0))],
  ['[4,7)', toHex(spanRoot({ begin: 4, end: 7 }, read))],
]);

const signer = await noteSigner('audit.example.com/t/acme', sha256(utf8('audit-trail test log key')));
const witness = await cosigner('witness.example.com/w1', sha256(utf8('audit-trail test witness key')));
const head = { origin: signer.name, size: 7, root: treeRoot(7, read) };
const checkpoint = await signCheckpoint(head, [signer]);

test('tree.md shows the hashes, roots and proofs of its example', () => {
  const nameOf = (hash: Uint8Array) => [...names].find(([, hex]) => hex === toHex(hash))![0];
  const row = (what: string, hashes: Uint8Array[]) => `| ${what} | ${hashes.map(nameOf).join(', ')} |`;
  assertShows(
    'tree.md',
    block([...names].map(([name, hex]) => `${name}  ${hex}`)),
    block(Array.from({ length: 8 }, (_, size) => `${size}  ${toHex(treeRoot(size, read))}`)),
    row('leaf 4 in size 7', proveInclusion(4, 7, read)),
    row('size 3 → 7', proveConsistency(3, 7, read)),
    row('size 4 → 7', proveConsistency(4, 7, read)),
    row('leaves 2 to 4 in size 7', proveRange(2, 5, 7, read)),
  );
});

test('tiles.md shows the tile and the bundle of its example, and the tiles of its sizes', () => {
  const bundle = toHex(encodeEntryBundle(entries.slice(0, 3)));
  const edge = (size: number, level: number) =>
    [...tilesOf(size)].filter((tile) => tile.level === level).map((tile) => formatTilePath(tile).slice(7));
  assertShows(
    'tiles.md',
    block(leaves.slice(0, 3).map(toHex)),
    block([bundle.replaceAll(/(.{4})(..)/g, '$1 $2 ').trim()]),
    `| 300 | \`${edge(300, 0).join('`, `')}\` | \`${edge(300, 1).join()}\` | |`,
    `| 70,000 | \`000\` to \`272\`, \`${edge(70_000, 0).at(-1)}\` | \`${edge(70_000, 1).join('`, `')}\` | \`${edge(70_000, 2).join()}\` |`,
    `| 1,234,067, 8 hashes | \`${formatTilePath({ level: 0, index: 1234067, width: 8 })}\` |`,
  );
});

test('checkpoint.md shows the keys, the cosigned checkpoint and the message of its example', async () => {
  const text = formatCheckpoint(head);
  const line = signatureLine(await witness.cosign(text, 1767323100));
  assertShows(
    'checkpoint.md',
    block([toHex(sha256(utf8('audit-trail test log key')))]),
    block([signer.verifierKey]),
    block([witness.verifierKey]),
    block([`${checkpoint}${line}`.trimEnd()]),
    block([`cosignature/v1\ntime 1767323100\n${text}`.trimEnd()]),
    `hexadecimal \`${(1767323100).toString(16)}\``,
  );
});

test('tlog-proof.md shows the proof of its example', () => {
  const hashes = proveInclusion(4, 7, read);
  assertShows(
    'tlog-proof.md',
    block([formatTlogProof({ extra: entries[4]!, index: 4, hashes, checkpoint }).trimEnd()]),
    `\`${toHex(leaves[4]!)}\``,
  );
  assert.equal(toBase64(entries[4]!), 'ZQ==');
});

test('event-proof.md shows the proof of its example in both forms, and a verifier agrees', async () => {
  const paths = unitsOf(VECTOR_EVENT)
    .map(({ path }) => path)
    .sort();
  const whole = openEvent(VECTOR_EVENT, (path) => new Uint8Array(16).fill(paths.indexOf(path) + 1));
  const facts = { kind: KINDS.event, content: contentOf(whole) };
  const entryAt = (index: number, previous: Uint8Array) =>
    encodeEntry({
      ...facts,
      index,
      receivedAtMs: 1_767_323_046_000 + index,
      eventId: `01KE000000000000000000004${2 + index}`,
      previous,
    });
  const first = entryAt(0, genesisHash(signer.name));
  const hashes = [leafHash(first), leafHash(entryAt(1, leafHash(first)))] as const;
  const root = nodeHash(...hashes);
  const proof = {
    entry: first,
    shown: withholdContent(closeUnits(whole, (path) => path === '/actor/userName')),
    hashes: [hashes[1]],
    checkpoint: await signCheckpoint({ origin: signer.name, size: 2, root }, [signer]),
  };
  const text = formatEventProofText(proof);
  const json = /```json\n([^]*?)```/.exec(readFileSync(join(FORMATS, 'event-proof.md'), 'utf8'))?.[1] ?? '';
  assert.deepEqual(JSON.parse(json), JSON.parse(formatEventProof(proof)));
  const rows = { content: facts.content, leaf: hashes[0], 'its sibling': hashes[1], root };
  assertShows(
    'event-proof.md',
    block([text.trimEnd()]),
    block(Object.entries(rows).map(([what, hash]) => `${what.padEnd(12)}${toHex(hash)}`)),
  );
  for (const form of [json, text]) {
    const trust = { verifiers: [await noteVerifier(signer.verifierKey)] };
    const { whole: isWhole, leaf, event } = await verifyEventProof(parseEventProof(form), trust);
    assert.deepEqual([isWhole, leaf], [false, toHex(hashes[0])]);
    assert.equal(JSON.stringify(event['actor']), '{"actorType":"User","userId":"u-42"}');
  }
});
