// Rows that follow from the log, changed so that they say something else; and the schema.

import { generateKeyPairSync, sign } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import { formatVerifierKey, parseCheckpoint, parseNote, signatureLine } from '@tallystick/evidence';
import { idAt, type NamedChange, unguarded } from './named-change.ts';

/** The newest checkpoint of acme. */
function signAnew(db: DatabaseSync): void {
  const row = db.prepare('SELECT size, note FROM checkpoints WHERE tenant = 1 ORDER BY size DESC').get()!;
  const note = signedByStranger(String(row['note']));
  db.prepare('UPDATE checkpoints SET note = ? WHERE tenant = 1 AND size = ?').run(note, row['size']!);
}

/** The same checkpoint, under the name of the log, with a key of one's own. */
export function signedByStranger(note: string): string {
  const { text } = parseNote(note);
  const { origin: name } = parseCheckpoint(text);
  const { privateKey, publicKey } = generateKeyPairSync('ed25519');
  const raw = new Uint8Array(publicKey.export({ format: 'der', type: 'spki' }).subarray(-32));
  const keyId = formatVerifierKey({ name, type: 1, publicKey: raw }).split('+')[1]!;
  return `${text}\n${signatureLine({ name, keyId, signature: sign(null, Buffer.from(text), privateKey) })}`;
}

export const DERIVED_ROWS: readonly NamedChange[] = [
  {
    title: 'another time in the row of a stream',
    tamper: unguarded(
      'UPDATE streams SET created_at_ms = created_at_ms + 1 WHERE tenant = 1 AND first_index = 42',
    ),
    expected: ['acme', 'LEAF_MISMATCH', 41],
    control: 'streams',
  },
  {
    title: 'another id in the row of a stream',
    tamper: unguarded(
      "UPDATE streams SET stream_id = '01KE0000000000000000000042' WHERE tenant = 1 AND first_index = 0",
    ),
    expected: ['acme', 'LEAF_MISMATCH', 41],
    control: 'streams',
  },
  {
    title: 'a stream that begins elsewhere',
    tamper: unguarded('UPDATE streams SET first_index = 44 WHERE tenant = 1 AND first_index = 42'),
    expected: ['acme', 'LEAF_MISMATCH', 41],
    control: 'streams',
  },
  {
    title: 'the row of a stream that is deleted',
    tamper: unguarded('DELETE FROM streams WHERE tenant = 1 AND first_index = 42'),
    expected: ['acme', 'LEAF_MISMATCH', 41],
    control: 'streams',
  },
  {
    title: 'the row of a stream that no notice knows',
    tamper: unguarded("INSERT INTO streams VALUES (1, 120, '01KE0000000000000000000042', 1, NULL)"),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'streams',
  },
  {
    title: 'a deletion that no notice tells of',
    tamper: unguarded('INSERT INTO deletions VALUES (1, 20, 21, (SELECT notice_index FROM deletions))'),
    expected: ['acme', 'GAP_UNEXPLAINED', 20],
    control: 'deletions',
  },
  {
    title: 'a deletion that says more than its notice',
    tamper: unguarded('UPDATE deletions SET end_index = 17'),
    expected: ['acme', 'GAP_UNEXPLAINED', 10],
    control: 'deletions',
  },
  {
    title: 'the row of a deletion that is deleted',
    tamper: unguarded('DELETE FROM deletions'),
    expected: ['acme', 'TRUNCATED', 72],
    control: 'deletions',
  },
  {
    title: 'a checkpoint that is replaced by an older one',
    tamper: unguarded(
      `UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE tenant = 1 AND size = 40)
       WHERE tenant = 1 AND size = (SELECT max(size) FROM checkpoints WHERE tenant = 1)`,
    ),
    expected: ['acme', 'ROOT_MISMATCH'],
    control: 'checkpoints',
  },
  {
    title: 'a checkpoint that is signed by somebody else',
    tamper: signAnew,
    expected: ['acme', 'KEY_UNKNOWN'],
    control: 'checkpoints',
  },
  {
    title: 'a checkpoint of another log',
    tamper: unguarded(
      `UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE tenant = 2 LIMIT 1) WHERE tenant = 1 AND size = 40`,
    ),
    expected: ['acme', 'ORIGIN_MISMATCH'],
    control: 'checkpoints',
  },
  {
    title: 'the checkpoint of a sealed stream that is deleted',
    tamper: unguarded('DELETE FROM checkpoints WHERE tenant = 1 AND size = 42'),
    expected: ['acme', 'TRUNCATED', 41],
    control: 'checkpoints',
  },
  {
    title: 'another hash of a tile',
    on: 'tiled',
    tamper: unguarded('UPDATE tile_hashes SET hash = zeroblob(32)'),
    expected: ['acme', 'ROOT_MISMATCH', 255],
    control: 'tiles',
  },
  {
    title: 'the hash of a tile that is deleted',
    on: 'tiled',
    tamper: unguarded('DELETE FROM tile_hashes'),
    expected: ['acme', 'TRUNCATED', 255],
    control: 'tiles',
  },
  {
    title: 'the hash of a tile that is not full',
    on: 'tiled',
    tamper: unguarded('INSERT INTO tile_hashes VALUES (1, 0, 1, 1, zeroblob(32))'),
    expected: ['acme', 'PROOF_INVALID'],
    control: 'tiles',
  },
  {
    title: 'an event that would be purged too early',
    tamper: unguarded(
      `UPDATE contents SET expires_at_ms = expires_at_ms - 86400000 WHERE id = ${idAt(1, 6)}`,
    ),
    expected: ['acme', 'LEAF_MISMATCH', 6],
    control: 'decisions',
  },
  {
    title: 'an event that would be kept too long',
    tamper: unguarded(`UPDATE contents SET expires_at_ms = expires_at_ms + 1 WHERE id = ${idAt(1, 2)}`),
    expected: ['acme', 'LEAF_MISMATCH', 2],
    control: 'decisions',
  },
  {
    title: 'an event that would never expire',
    tamper: unguarded(`UPDATE contents SET expires_at_ms = NULL WHERE id = ${idAt(1, 120)}`),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'decisions',
  },
  {
    title: 'a notice that would expire',
    tamper: unguarded(`UPDATE contents SET expires_at_ms = 1 WHERE id = ${idAt(1, 40)}`),
    expected: ['acme', 'LEAF_MISMATCH', 40],
    control: 'decisions',
  },
  {
    title: 'an event without what has decided about it',
    tamper: unguarded(`UPDATE contents SET decision = NULL WHERE id = ${idAt(1, 120)}`),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'decisions',
  },
  {
    title: 'an event that another decision has decided',
    tamper: unguarded(
      `UPDATE contents SET decision = (SELECT decision FROM contents WHERE id = ${idAt(1, 3)}) WHERE id = ${idAt(1, 120)}`,
    ),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'decisions',
  },
  {
    title: 'an event that a decision has decided which is not there',
    tamper: unguarded(`UPDATE contents SET decision = decision + 1 WHERE id = ${idAt(1, 120)}`),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'decisions',
  },
  {
    title: 'a decision whose text says something else',
    tamper: unguarded(
      `UPDATE decisions SET body = replace(body, '"decided":true', '"decided":false') WHERE tenant = 1`,
    ),
    expected: ['acme', 'LEAF_MISMATCH'],
    control: 'decisions',
  },
  {
    title: 'a decision under another number',
    tamper: unguarded(`UPDATE decisions SET decision = decision + 1 WHERE tenant = 1`),
    expected: ['acme', 'LEAF_MISMATCH'],
    control: 'decisions',
  },
  {
    title: 'a guard of the entries that is taken away',
    tamper: (db) => db.exec('DROP TRIGGER entries_stay'),
    expected: [undefined, 'MALFORMED'],
    control: 'schema',
  },
  {
    title: 'a trigger that is none of ours',
    tamper: (db) => db.exec('CREATE TRIGGER t AFTER INSERT ON streams BEGIN DELETE FROM api_keys; END'),
    expected: [undefined, 'MALFORMED'],
    control: 'schema',
  },
  {
    title: 'a column that is none of ours',
    tamper: (db) => db.exec('ALTER TABLE contents ADD COLUMN hidden TEXT'),
    expected: [undefined, 'MALFORMED'],
    control: 'schema',
  },
];
