// What somebody can do who has read all of the source: write a log anew from one event on, with every hash right, sign
// it and write the anchor to match. It uses the program's own parts, as such a forger would.

import { createPrivateKey, type JsonWebKey } from 'node:crypto';
import { readFileSync, rmSync, writeFileSync } from 'node:fs';
import type { DatabaseSync } from 'node:sqlite';
import {
  CompactRange,
  decodeEntry,
  encodeEntry,
  leafHash,
  noteSigner,
  parseCheckpoint,
  parseNote,
  signCheckpoint,
} from '@tallystick/evidence';
import { formatAnchor, readAnchor } from '../../packages/server/src/storage/anchor/format.ts';
import { Commitments } from '../../packages/server/src/storage/pool/commitments.ts';
import { openSigningKeys } from '../../packages/server/src/storage/keys/signing-key-files.ts';
import type { Victim } from './victim.ts';

const HASH_BYTES = 32;

/** Makes roots, entry and leaf of each event from this index on, as if its content had always been what it is now. */
export function rechain(db: DatabaseSync, from: number): void {
  const rows = db.prepare(
    `SELECT id, entry, text1, text2, seeds FROM entries JOIN contents USING (id)
     WHERE tenant = 2 AND leaf_index >= ? ORDER BY leaf_index`,
  );
  const update = db.prepare('UPDATE entries SET entry = ?, leaf = ?, root1 = ?, root2 = ? WHERE id = ?');
  const before = db.prepare('SELECT leaf FROM entries WHERE tenant = 2 AND leaf_index = ?').get(from - 1);
  let previous = bytesIn(before?.['leaf']);
  for (const row of rows.all(from)) {
    const { root1, root2, content } = hashesOf(
      [bytesIn(row['text1']), bytesIn(row['text2'])],
      bytesIn(row['seeds']),
    );
    const entry = encodeEntry({ ...decodeEntry(bytesIn(row['entry'])), previous, content });
    previous = leafHash(entry);
    update.run(entry, previous, root1, root2, Number(row['id']));
  }
}

/** Puts one more event at the end, in the right form: the last one, under another id and with another amount. */
export function addEvent(db: DatabaseSync, index: number): void {
  const last = db.prepare('SELECT id, entry FROM entries WHERE tenant = 2 AND leaf_index = ?').get(index - 1);
  const made = { ...decodeEntry(bytesIn(last?.['entry'])), index, eventId: '01KE0000000000000000000099' };
  const { lastInsertRowid } = db
    .prepare(
      `INSERT INTO entries (tenant, leaf_index, classification, entry, leaf, root1, root2)
       SELECT tenant, ?, classification, ?, leaf, root1, root2 FROM entries WHERE id = ?`,
    )
    .run(index, encodeEntry(made), Number(last?.['id']));
  db.prepare(
    `INSERT INTO contents (id, text1, text2, seeds, expires_at_ms, decision)
     SELECT ?, text1, CAST(replace(CAST(text2 AS TEXT), '1200', '9999') AS BLOB), seeds, expires_at_ms, decision
     FROM contents WHERE id = ?`,
  ).run(lastInsertRowid, Number(last?.['id']));
  rechain(db, index);
}

function hashesOf(texts: readonly [Uint8Array, Uint8Array], seeds: Uint8Array) {
  const commitments = new Commitments();
  commitments.begin(seeds);
  commitments.add(texts);
  commitments.run();
  const [root1, root2, content] = [1, 2, 3].map(() => new Uint8Array(HASH_BYTES)) as [
    Uint8Array,
    Uint8Array,
    Uint8Array,
  ];
  commitments.copyRoot(0, 1, root1, 0);
  commitments.copyRoot(0, 2, root2, 0);
  commitments.copyContent(0, content, 0);
  return { root1, root2, content };
}

/** Signs every checkpoint anew, over the entries as they are now, and writes the newest heads into the anchor. */
export async function signAnew(victim: Victim): Promise<void> {
  const seed = seedIn(readFileSync(victim.path('signing-keys/0001.pem'), 'utf8'));
  const heads = new Map(readAnchor(readFileSync(victim.path('anchor'))).heads);
  const rows = victim.read((db) =>
    db.prepare('SELECT tenant, size, note FROM checkpoints ORDER BY size').all(),
  );
  for (const { tenant, size, note } of rows) {
    const { origin } = parseCheckpoint(parseNote(String(note)).text);
    const head = { origin, size: Number(size), root: rootAt(victim, Number(tenant), Number(size)) };
    const signed = await signCheckpoint(head, [await noteSigner(origin, seed)]);
    heads.set(origin, head);
    victim.write((_, db) =>
      db.prepare('UPDATE checkpoints SET note = ? WHERE note = ?').run(signed, String(note)),
    );
  }
  writeFileSync(victim.path('anchor'), formatAnchor([...heads.values()]));
}

/** The 32 bytes that an Ed25519 key is made from. */
function seedIn(pem: string): Uint8Array {
  const { d = '' }: JsonWebKey = createPrivateKey(pem).export({ format: 'jwk' });
  return new Uint8Array(Buffer.from(d, 'base64url'));
}

function rootAt(victim: Victim, tenant: number, size: number): Uint8Array {
  const tree = new CompactRange();
  const sql = 'SELECT leaf FROM entries WHERE tenant = ? AND leaf_index < ? ORDER BY leaf_index';
  for (const { leaf } of victim.read((db) => db.prepare(sql).all(tenant, size))) tree.append(bytesIn(leaf));
  return tree.root();
}

/** Throws the service's key away and makes another. */
export async function replaceSigningKey(victim: Victim): Promise<void> {
  rmSync(victim.path('signing-keys'), { recursive: true });
  await openSigningKeys(victim.directory, Date.now());
}

function bytesIn(value: unknown): Uint8Array {
  if (!(value instanceof Uint8Array)) throw new Error('the store has no bytes where they should be');
  return value;
}
