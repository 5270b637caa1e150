// Changes that somebody makes to a database on purpose, as its superuser, with what must be found of each. The same as those
// to the embedded store, and those that only a database can have: of heads, of months, of what keeps rows unique.

import { KINDS } from '@tallystick/evidence';
import { purgeTextsOf } from '../forgeries.ts';
import { DERIVED_ROWS } from './derived-rows.ts';
import { forgedEvent, moveHead, replaceEvent, writeForged } from './forger.ts';
import { ACME, at, type NamedChange, sql } from './named-change.ts';
import type { Say } from './tampered-database.ts';

/** Entries and contents from an index on, and streams that begin behind it; the head is moved back. */
async function cut(say: Say, tenant: string, from: number, more = ''): Promise<void> {
  await say(
    `DELETE FROM contents WHERE tenant_id = '${tenant}' AND leaf_index >= ${from};
     DELETE FROM entries WHERE tenant_id = '${tenant}' AND leaf_index >= ${from};
     DELETE FROM streams WHERE tenant_id = '${tenant}' AND first_index > ${from}; ${more}`,
  );
  await moveHead(say, tenant);
}

async function purgeTexts(say: Say, tenant: string, from: number, to: number) {
  const rows = await say(
    `SELECT leaf FROM entries WHERE tenant_id = $1 AND leaf_index >= $2 AND leaf_index < $3 ORDER BY leaf_index`,
    [tenant, from, to],
  );
  return purgeTextsOf(
    from,
    rows.map(({ leaf }) => leaf as Uint8Array),
  );
}

const COPIED = 'classification, content_month, entry, leaf, root1, root2';
const copied = (from: string, to: string, index: number) => `
  INSERT INTO contents (tenant_id, leaf_index, content_month, text1, text2, seeds)
    SELECT '${to}', (SELECT max(leaf_index) + 1 FROM entries WHERE tenant_id = '${to}'), content_month, text1, text2, seeds
    FROM contents WHERE ${at(from, index)};
  INSERT INTO entries (tenant_id, leaf_index, ${COPIED})
    SELECT '${to}', (SELECT max(leaf_index) + 1 FROM entries WHERE tenant_id = '${to}'), ${COPIED}
    FROM entries WHERE ${at(from, index)}`;

const LOSSES: readonly NamedChange[] = [
  {
    title: 'an entry that is deleted with its content',
    tamper: sql(`DELETE FROM contents WHERE ${at('acme', 20)}; DELETE FROM entries WHERE ${at('acme', 20)}`),
    expected: ['acme', 'INDEX_MISMATCH', 20],
  },
  {
    title: 'content whose entry is deleted',
    tamper: async (say) => {
      await say(`DELETE FROM entries WHERE ${at('globex', 61)}`);
      await moveHead(say, 'globex');
    },
    expected: [undefined, 'TRUNCATED', 61],
    control: 'strays',
  },
  {
    title: 'the content of an event that is deleted without a notice',
    tamper: sql(`DELETE FROM contents WHERE ${at('acme', 30)}`),
    expected: ['acme', 'GAP_UNEXPLAINED', 30],
    control: 'deletions',
  },
  {
    title: 'the content of a notice that is deleted',
    tamper: sql(`DELETE FROM contents WHERE ${at('acme', 40)}`),
    expected: ['acme', 'NOTICE_INVALID', 40],
  },
  {
    title: 'a head that is cut off',
    tamper: sql(
      `DELETE FROM contents WHERE ${ACME} AND leaf_index < 5; DELETE FROM entries WHERE ${ACME} AND leaf_index < 5`,
    ),
    expected: ['acme', 'INDEX_MISMATCH', 0],
  },
  {
    title: 'a head that is cut off, the rest moved to its place',
    tamper: async (say) => {
      for (const table of ['contents', 'entries'])
        await say(
          `DELETE FROM ${table} WHERE ${ACME} AND leaf_index < 5;
           UPDATE ${table} SET leaf_index = leaf_index - 1000 WHERE ${ACME};
           UPDATE ${table} SET leaf_index = leaf_index + 995 WHERE ${ACME}`,
        );
      await moveHead(say, 'acme');
    },
    expected: ['acme', 'INDEX_MISMATCH', 0],
  },
  {
    title: 'a tail that is cut off',
    tamper: (say) => cut(say, 'acme', 90),
    expected: ['acme', 'ROLLBACK', 90],
  },
  {
    title: 'a tail that is cut off with the checkpoints over it',
    tamper: (say) => cut(say, 'acme', 100, `DELETE FROM checkpoints WHERE ${ACME} AND size > 100`),
    expected: ['acme', 'ROLLBACK', 100],
    control: 'anchor',
  },
  {
    title: 'a whole log that is deleted',
    tamper: (say) =>
      cut(
        say,
        'globex',
        0,
        "DELETE FROM streams WHERE tenant_id = 'globex'; DELETE FROM checkpoints WHERE tenant_id = 'globex'",
      ),
    expected: ['globex', 'ROLLBACK', 0],
    control: 'anchor',
  },
  {
    title: 'a tenant that is deleted with all that it had',
    tamper: async (say) => {
      for (const table of ['contents', 'entries', 'streams', 'checkpoints', 'heads', 'tenants'])
        await say(`DELETE FROM ${table} WHERE tenant_id = 'globex'`);
    },
    expected: ['globex', 'ROLLBACK'],
    control: 'anchor',
  },
  {
    title: 'a partition of entries that is taken out',
    tamper: async (say) => {
      const [row] = await say(`SELECT tableoid::regclass::text AS part FROM entries WHERE ${ACME} LIMIT 1`);
      await say(`ALTER TABLE entries DETACH PARTITION ${String(row!['part'])}`);
    },
    expected: ['acme', 'ROLLBACK', 0],
  },
];

const MOVES: readonly NamedChange[] = [
  {
    title: 'two entries that are swapped',
    tamper: sql(
      `UPDATE entries SET leaf_index = -1 WHERE ${at('acme', 20)};
       UPDATE entries SET leaf_index = 20 WHERE ${at('acme', 24)};
       UPDATE entries SET leaf_index = 24 WHERE ${at('acme', -1)}`,
    ),
    expected: ['acme', 'INDEX_MISMATCH', 20],
  },
  {
    title: 'two contents that are swapped',
    tamper: sql(
      `UPDATE contents SET leaf_index = -1 WHERE ${at('acme', 20)};
       UPDATE contents SET leaf_index = 20 WHERE ${at('acme', 24)};
       UPDATE contents SET leaf_index = 24 WHERE ${at('acme', -1)}`,
    ),
    expected: ['acme', 'LEAF_MISMATCH', 20],
    control: 'values',
  },
  {
    title: 'entries of two tenants that are swapped',
    tamper: sql(
      `UPDATE entries SET tenant_id = 'x' WHERE ${at('acme', 7)};
       UPDATE entries SET tenant_id = 'acme' WHERE ${at('globex', 7)};
       UPDATE entries SET tenant_id = 'globex' WHERE ${at('x', 7)}`,
    ),
    expected: ['acme', 'CHAIN_BROKEN', 7],
  },
  {
    title: 'contents of two tenants that are swapped',
    tamper: sql(
      `UPDATE contents SET tenant_id = 'x' WHERE ${at('acme', 7)};
       UPDATE contents SET tenant_id = 'acme' WHERE ${at('globex', 7)};
       UPDATE contents SET tenant_id = 'globex' WHERE ${at('x', 7)}`,
    ),
    expected: ['acme', 'LEAF_MISMATCH', 7],
    control: ['values', 'decisions'],
  },
  {
    title: 'an entry that is there twice',
    tamper: async (say) => {
      await say(`DROP INDEX entries_by_event, entries_by_previous; ${copied('acme', 'acme', 3)}`);
      await moveHead(say, 'acme');
    },
    expected: ['acme', 'INDEX_MISMATCH', 138],
  },
  {
    title: 'content that is there twice',
    tamper: sql(
      `SELECT ensure_content_month(1);
       INSERT INTO contents (tenant_id, leaf_index, content_month, text1, text2, seeds)
         SELECT tenant_id, leaf_index, 1, text1, text2, seeds FROM contents WHERE ${at('acme', 3)}`,
    ),
    expected: [undefined, 'TRUNCATED', 3],
    control: 'strays',
  },
  {
    title: 'an entry of one tenant that is copied to another',
    tamper: async (say) => {
      await say(copied('acme', 'globex', 62));
      await moveHead(say, 'globex');
    },
    expected: ['globex', 'CHAIN_BROKEN', 62],
  },
  {
    title: 'content that is moved to another month',
    tamper: sql(
      `SELECT ensure_content_month(1); UPDATE contents SET content_month = 1 WHERE ${at('acme', 20)}`,
    ),
    expected: ['acme', 'GAP_UNEXPLAINED', 20],
  },
  {
    title: 'an entry that names another month than its content is in',
    tamper: sql(`UPDATE entries SET content_month = 7 WHERE ${at('acme', 20)}`),
    expected: ['acme', 'GAP_UNEXPLAINED', 20],
  },
  {
    title: 'rows of a tenant that is not there',
    tamper: sql("INSERT INTO tile_hashes VALUES ('nobody', 0, 1, 0, '\\x00')"),
    expected: [undefined, 'ORIGIN_MISMATCH'],
    control: 'strays',
  },
];

const FORGERIES: readonly NamedChange[] = [
  {
    title: 'a suffix that is chained anew behind a changed event',
    tamper: (say) => replaceEvent(say, 'acme', 50),
    expected: ['acme', 'ROOT_MISMATCH', 42],
  },
  {
    title: 'a suffix that is chained anew, without the checkpoints over it',
    tamper: async (say) => {
      await replaceEvent(say, 'acme', 136);
      await say(`DELETE FROM checkpoints WHERE ${ACME} AND size > 136`);
    },
    expected: ['acme', 'FORK'],
    control: 'anchor',
  },
  {
    title: 'a purge notice that is appended and not signed, and what it would explain',
    tamper: async (say) => {
      const texts = await purgeTexts(say, 'globex', 12, 14);
      await writeForged(say, await forgedEvent(say, 'globex', { kind: KINDS.purge, texts }));
      await say("DELETE FROM contents WHERE tenant_id = 'globex' AND leaf_index IN (12, 13)");
    },
    expected: ['globex', 'GAP_UNEXPLAINED', 12],
  },
  {
    title: 'an event that is turned into a purge notice',
    tamper: async (say) => {
      await replaceEvent(say, 'globex', 54, {
        kind: KINDS.purge,
        texts: await purgeTexts(say, 'globex', 12, 14),
      });
      await say("DELETE FROM contents WHERE tenant_id = 'globex' AND leaf_index IN (12, 13)");
    },
    expected: ['globex', 'ROOT_MISMATCH'],
  },
  {
    title: 'an event that is received before the one before it',
    tamper: async (say) =>
      writeForged(say, await forgedEvent(say, 'globex', { receivedAtMs: 1_767_323_046_000 })),
    expected: ['globex', 'TIME_REVERSED', 62],
    control: 'times',
  },
  {
    title: 'an event that names another leaf than the one before it',
    tamper: async (say) =>
      writeForged(say, await forgedEvent(say, 'globex', { previous: new Uint8Array(32) })),
    expected: ['globex', 'CHAIN_BROKEN', 62],
    control: 'chain',
  },
  {
    title: 'another leaf beside an entry',
    tamper: sql(`UPDATE entries SET leaf = decode(repeat('00', 32), 'hex') WHERE ${at('acme', 3)}`),
    expected: ['acme', 'LEAF_MISMATCH', 3],
    control: 'leaves',
  },
  {
    title: 'a column that makes a secret event public',
    tamper: sql(`UPDATE entries SET classification = 0 WHERE ${at('acme', 3)}`),
    expected: ['acme', 'LEAF_MISMATCH', 3],
    control: ['classification', 'decisions'],
  },
  {
    title: 'content that says that it is sealed',
    tamper: sql(`UPDATE contents SET key_id = 'k' WHERE ${at('acme', 3)}`),
    expected: ['acme', 'MALFORMED', 3],
  },
  {
    title: 'an integer beyond all that we write',
    tamper: sql(`UPDATE entries SET leaf_index = 9007199254740993 WHERE ${at('acme', 3)}`),
    expected: ['acme', 'MALFORMED'],
  },
];

export const NAMED_CHANGES: readonly NamedChange[] = [...LOSSES, ...MOVES, ...FORGERIES, ...DERIVED_ROWS];
