// Rows of a database that follow from the log, changed so that they say something else; and the schema.

import { signedByStranger } from '../derived-rows.ts';
import { ACME, at, type NamedChange, sql } from './named-change.ts';

export const DERIVED_ROWS: readonly NamedChange[] = [
  {
    title: 'a head that says that the log is longer',
    tamper: sql(`UPDATE heads SET next_index = next_index + 1 WHERE ${ACME}`),
    expected: ['acme', 'INDEX_MISMATCH', 137],
    control: 'heads',
  },
  {
    title: 'a head that is another leaf',
    tamper: sql(`UPDATE heads SET leaf = (SELECT leaf FROM entries WHERE ${at('acme', 3)}) WHERE ${ACME}`),
    expected: ['acme', 'LEAF_MISMATCH', 137],
    control: 'heads',
  },
  {
    title: 'a head that is deleted',
    tamper: sql(`DELETE FROM heads WHERE ${ACME}`),
    expected: ['acme', 'TRUNCATED', 137],
    control: 'heads',
  },
  {
    title: 'another time in the row of a stream',
    tamper: sql(`UPDATE streams SET created_at_ms = created_at_ms + 1 WHERE ${ACME} AND first_index = 42`),
    expected: ['acme', 'LEAF_MISMATCH', 41],
    control: 'streams',
  },
  {
    title: 'a stream that begins elsewhere',
    tamper: sql(`UPDATE streams SET first_index = 44 WHERE ${ACME} AND first_index = 42`),
    expected: ['acme', 'LEAF_MISMATCH', 41],
    control: 'streams',
  },
  {
    title: 'the row of a stream that is deleted',
    tamper: sql(`DELETE FROM streams WHERE ${ACME} AND first_index = 42`),
    expected: ['acme', 'LEAF_MISMATCH', 41],
    control: 'streams',
  },
  {
    title: 'the row of a stream that no notice knows',
    tamper: sql("INSERT INTO streams VALUES ('acme', 120, '01KE0000000000000000000042', 1, NULL)"),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'streams',
  },
  {
    title: 'a deletion that no notice tells of',
    tamper: sql("INSERT INTO deletions VALUES ('acme', 20, 21, (SELECT notice_index FROM deletions))"),
    expected: ['acme', 'GAP_UNEXPLAINED', 20],
    control: 'deletions',
  },
  {
    title: 'the row of a deletion that is deleted',
    tamper: sql('DELETE FROM deletions'),
    expected: ['acme', 'TRUNCATED', 72],
    control: 'deletions',
  },
  {
    title: 'an event that would be purged too early',
    tamper: sql(`UPDATE contents SET expires_at_ms = expires_at_ms - 86400000 WHERE ${at('acme', 6)}`),
    expected: ['acme', 'LEAF_MISMATCH', 6],
    control: 'decisions',
  },
  {
    title: 'an event that would be kept too long',
    tamper: sql(`UPDATE contents SET expires_at_ms = expires_at_ms + 1 WHERE ${at('acme', 2)}`),
    expected: ['acme', 'LEAF_MISMATCH', 2],
    control: 'decisions',
  },
  {
    title: 'an event that would never expire',
    tamper: sql(`UPDATE contents SET expires_at_ms = NULL WHERE ${at('acme', 120)}`),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'decisions',
  },
  {
    title: 'a notice that would expire',
    tamper: sql(`UPDATE contents SET expires_at_ms = 1 WHERE ${at('acme', 40)}`),
    expected: ['acme', 'LEAF_MISMATCH', 40],
    control: 'decisions',
  },
  {
    title: 'an event without what has decided about it',
    tamper: sql(`UPDATE contents SET decision = NULL WHERE ${at('acme', 120)}`),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'decisions',
  },
  {
    title: 'an event that another decision has decided',
    tamper: sql(
      `UPDATE contents SET decision = (SELECT decision FROM contents WHERE ${at('acme', 3)}) WHERE ${at('acme', 120)}`,
    ),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'decisions',
  },
  {
    title: 'an event that a decision has decided which is not there',
    tamper: sql(`UPDATE contents SET decision = decision + 1 WHERE ${at('acme', 120)}`),
    expected: ['acme', 'LEAF_MISMATCH', 120],
    control: 'decisions',
  },
  {
    title: 'a decision whose text says something else',
    tamper: sql(
      `UPDATE decisions SET body = replace(body, '"decided":true', '"decided":false') WHERE ${ACME}`,
    ),
    expected: ['acme', 'LEAF_MISMATCH'],
    control: 'decisions',
  },
  {
    title: 'a decision under another number',
    tamper: sql(`UPDATE decisions SET decision = decision + 1 WHERE ${ACME}`),
    expected: ['acme', 'LEAF_MISMATCH'],
    control: 'decisions',
  },
  {
    title: 'a checkpoint that is replaced by an older one',
    tamper: sql(
      `UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE ${ACME} AND size = 40)
       WHERE ${ACME} AND size = (SELECT max(size) FROM checkpoints WHERE ${ACME})`,
    ),
    expected: ['acme', 'ROOT_MISMATCH'],
    control: 'checkpoints',
  },
  {
    title: 'a checkpoint that is signed by somebody else',
    tamper: async (say) => {
      const [row] = await say(`SELECT size, note FROM checkpoints WHERE ${ACME} ORDER BY size DESC LIMIT 1`);
      const note = signedByStranger(String(row!['note']));
      await say(`UPDATE checkpoints SET note = $1 WHERE ${ACME} AND size = $2`, [note, row!['size']]);
    },
    expected: ['acme', 'KEY_UNKNOWN'],
    control: 'checkpoints',
  },
  {
    title: 'a checkpoint of another log',
    tamper: sql(
      `UPDATE checkpoints SET note = (SELECT note FROM checkpoints WHERE tenant_id = 'globex' LIMIT 1)
       WHERE ${ACME} AND size = 40`,
    ),
    expected: ['acme', 'ORIGIN_MISMATCH'],
    control: 'checkpoints',
  },
  {
    title: 'the checkpoint of a sealed stream that is deleted',
    tamper: sql(`DELETE FROM checkpoints WHERE ${ACME} AND size = 42`),
    expected: ['acme', 'TRUNCATED', 41],
    control: 'checkpoints',
  },
  {
    title: 'another hash of a tile',
    on: 'tiled',
    tamper: sql("UPDATE tile_hashes SET hash = decode(repeat('00', 32), 'hex')"),
    expected: ['acme', 'ROOT_MISMATCH', 255],
    control: 'tiles',
  },
  {
    title: 'the hash of a tile that is deleted',
    on: 'tiled',
    tamper: sql('DELETE FROM tile_hashes'),
    expected: ['acme', 'TRUNCATED', 255],
    control: 'tiles',
  },
  {
    title: 'the hash of a tile that is not full',
    on: 'tiled',
    tamper: sql("INSERT INTO tile_hashes VALUES ('acme', 0, 1, 1, decode(repeat('00', 32), 'hex'))"),
    expected: ['acme', 'PROOF_INVALID'],
    control: 'tiles',
  },
  {
    title: 'an epoch that is forgotten',
    on: 'tiled',
    tamper: sql('DELETE FROM epochs'),
    expected: ['acme', 'ORIGIN_MISMATCH'],
  },
  {
    title: 'what keeps a log from forking, taken away',
    tamper: sql('DROP INDEX entries_by_previous'),
    expected: [undefined, 'MALFORMED'],
    control: 'schema',
  },
];
