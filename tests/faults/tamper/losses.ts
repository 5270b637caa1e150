// What was logged is taken away, moved, or put where it does not belong.

import { idAt, type NamedChange, unguarded } from './named-change.ts';
import { forgedEvent, writeForged } from './forger.ts';

/** Entries and contents from an index on, and streams that begin behind it. */
const cut = (tenant: number, from: number) =>
  `DELETE FROM contents WHERE id IN (SELECT id FROM entries WHERE tenant = ${tenant} AND leaf_index >= ${from});
   DELETE FROM entries WHERE tenant = ${tenant} AND leaf_index >= ${from};
   DELETE FROM streams WHERE tenant = ${tenant} AND first_index > ${from}`;

export const LOSSES: readonly NamedChange[] = [
  {
    title: 'an entry that is deleted with its content',
    tamper: unguarded(
      `DELETE FROM contents WHERE id = ${idAt(1, 20)}; DELETE FROM entries WHERE id = ${idAt(1, 20)}`,
    ),
    expected: ['acme', 'INDEX_MISMATCH', 20],
  },
  {
    title: 'content whose entry is deleted',
    tamper: unguarded(`DELETE FROM entries WHERE id = ${idAt(2, 59)}`),
    expected: [undefined, 'TRUNCATED'],
  },
  {
    title: 'the content of an event that is deleted without a notice',
    tamper: unguarded(`DELETE FROM contents WHERE id = ${idAt(1, 30)}`),
    expected: ['acme', 'GAP_UNEXPLAINED', 30],
    control: 'deletions',
  },
  {
    title: 'the content of a notice that is deleted',
    tamper: unguarded(`DELETE FROM contents WHERE id = ${idAt(1, 40)}`),
    expected: ['acme', 'NOTICE_INVALID', 40],
  },
  {
    title: 'a head that is cut off',
    tamper: unguarded(
      `DELETE FROM contents WHERE id IN (SELECT id FROM entries WHERE tenant = 1 AND leaf_index < 5);
       DELETE FROM entries WHERE tenant = 1 AND leaf_index < 5`,
    ),
    expected: ['acme', 'INDEX_MISMATCH', 0],
  },
  {
    title: 'a head that is cut off, the rest moved to its place',
    tamper: unguarded(
      `DELETE FROM contents WHERE id IN (SELECT id FROM entries WHERE tenant = 1 AND leaf_index < 5);
       DELETE FROM entries WHERE tenant = 1 AND leaf_index < 5;
       UPDATE entries SET leaf_index = leaf_index - 1000 WHERE tenant = 1;
       UPDATE entries SET leaf_index = leaf_index + 995 WHERE tenant = 1`,
    ),
    expected: ['acme', 'INDEX_MISMATCH', 0],
  },
  {
    title: 'a tail that is cut off',
    tamper: unguarded(cut(1, 90)),
    expected: ['acme', 'ROLLBACK', 90],
  },
  {
    title: 'a tail that is cut off with the checkpoints over it',
    tamper: unguarded(`${cut(1, 100)}; DELETE FROM checkpoints WHERE tenant = 1 AND size > 100`),
    expected: ['acme', 'ROLLBACK', 100],
    control: 'anchor',
  },
  {
    title: 'a tail that is cut off with the checkpoints and the tiles over it',
    on: 'tiled',
    tamper: unguarded(
      `${cut(2, 1)}; DELETE FROM checkpoints WHERE tenant = 2; DELETE FROM tile_hashes WHERE tenant = 2`,
    ),
    expected: ['globex', 'ROLLBACK', 1],
    control: 'anchor',
  },
  {
    title: 'a whole log that is deleted',
    tamper: unguarded(
      `DELETE FROM streams WHERE tenant = 2; ${cut(2, 0)}; DELETE FROM checkpoints WHERE tenant = 2`,
    ),
    expected: ['globex', 'ROLLBACK', 0],
    control: 'anchor',
  },
  {
    title: 'a tenant that is deleted with all that it had',
    tamper: unguarded(
      `DELETE FROM streams WHERE tenant = 2; ${cut(2, 0)}; DELETE FROM checkpoints WHERE tenant = 2;
       DELETE FROM used_keys; DELETE FROM tenants WHERE tenant = 2`,
    ),
    expected: ['globex', 'ROLLBACK'],
    control: 'anchor',
  },
];

export const MOVES: readonly NamedChange[] = [
  {
    title: 'two entries that are swapped',
    tamper: unguarded(
      `UPDATE entries SET leaf_index = -1 WHERE id = ${idAt(1, 20)};
       UPDATE entries SET leaf_index = 20 WHERE id = ${idAt(1, 24)};
       UPDATE entries SET leaf_index = 24 WHERE id = ${idAt(1, -1)}`,
    ),
    expected: ['acme', 'INDEX_MISMATCH', 20],
  },
  {
    title: 'two contents that are swapped',
    tamper: (db) => {
      const id = (index: number) => Number(db.prepare(`SELECT ${idAt(1, index)} AS id`).get()!['id']);
      const [one, other] = [id(20), id(24)];
      db.exec(`UPDATE contents SET id = -1 WHERE id = ${one}; UPDATE contents SET id = ${one} WHERE id = ${other};
        UPDATE contents SET id = ${other} WHERE id = -1`);
    },
    expected: ['acme', 'LEAF_MISMATCH', 20],
    control: 'values',
  },
  {
    title: 'entries of two tenants that are swapped',
    tamper: unguarded(
      `UPDATE entries SET tenant = 99 WHERE id = ${idAt(1, 7)}; UPDATE entries SET tenant = 1 WHERE id = ${idAt(2, 7)};
       UPDATE entries SET tenant = 2 WHERE tenant = 99`,
    ),
    expected: ['acme', 'CHAIN_BROKEN', 7],
  },
  {
    title: 'an entry that is there twice',
    tamper: unguarded(
      `DROP INDEX entries_by_event;
       INSERT INTO entries (id, tenant, leaf_index, classification, entry, leaf, root1, root2)
         SELECT 1000, tenant, (SELECT max(leaf_index) + 1 FROM entries WHERE tenant = 1), classification, entry, leaf, root1, root2
         FROM entries WHERE id = ${idAt(1, 3)};
       INSERT INTO contents (id, text1, text2, seeds) SELECT 1000, text1, text2, seeds FROM contents WHERE id = ${idAt(1, 3)}`,
    ),
    expected: ['acme', 'INDEX_MISMATCH', 138],
  },
  {
    title: 'an entry of one tenant that is copied to another',
    tamper: unguarded(
      `INSERT INTO entries (id, tenant, leaf_index, classification, entry, leaf, root1, root2)
         SELECT 1000, 2, (SELECT max(leaf_index) + 1 FROM entries WHERE tenant = 2), classification, entry, leaf, root1, root2
         FROM entries WHERE id = ${idAt(1, 62)};
       INSERT INTO contents (id, text1, text2, seeds) SELECT 1000, text1, text2, seeds FROM contents WHERE id = ${idAt(1, 62)}`,
    ),
    expected: ['globex', 'CHAIN_BROKEN', 62],
  },
  {
    title: 'an entry that is torn from its content',
    tamper: unguarded(`UPDATE entries SET id = 5000 WHERE id = ${idAt(1, 20)}`),
    expected: ['acme', 'GAP_UNEXPLAINED', 20],
  },
  {
    title: 'rows of a tenant that is not there',
    tamper: (db) => void writeForged(db, forgedEvent(db, 1, { tenant: 77, sequenceIndex: 0 })),
    expected: [undefined, 'ORIGIN_MISMATCH'],
    control: 'strays',
  },
];
