// What was never logged so, made to look as if it had been: by one who has no signing key.

import type { DatabaseSync } from 'node:sqlite';
import { decodeEntry, encodeNotice, KINDS, toBase64 } from '@tallystick/evidence';
import { chainAnew, type ForgedEntry, forgedEvent, writeForged } from './forger.ts';
import { idAt, type NamedChange, unguarded } from './named-change.ts';

/** Puts another event in the place of one, and links all that follows to it. */
function replaceEvent(
  db: DatabaseSync,
  tenant: number,
  index: number,
  more: Partial<ForgedEntry> = {},
): void {
  const rows = db.prepare(
    'SELECT id, entry, leaf FROM entries WHERE tenant = ? AND leaf_index >= ? ORDER BY leaf_index LIMIT 2',
  );
  const [before, own] = rows.all(tenant, index - 1);
  const { receivedAtMs } = decodeEntry(own!['entry'] as Uint8Array);
  const previous = before!['leaf'] as Uint8Array;
  const forged = forgedEvent(db, tenant, { previous, index, sequenceIndex: index, receivedAtMs, ...more });
  writeForged(db, forged, Number(own!['id']));
  chainAnew(db, tenant, index + 1);
}

function purgeTexts(db: DatabaseSync, tenant: number, from: number, to: number) {
  const leaves = db
    .prepare(
      'SELECT leaf FROM entries WHERE tenant = ? AND leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index',
    )
    .all(tenant, from, to);
  return purgeTextsOf(
    from,
    leaves.map(({ leaf }) => leaf as Uint8Array),
  );
}

/** A purge that is true of the tree, of the events with these leaves. */
export function purgeTextsOf(from: number, leaves: readonly Uint8Array[]) {
  const ranges = leaves.map((_, i): [number, number] => [from + i, from + i + 1]);
  const facts = {
    kind: KINDS.purge,
    action: 'Purge.AuditEvents',
    resource: { resourceType: 'EventStream', resourceId: 'x' },
    correlationId: '7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11',
    payload: {
      policyId: null,
      policyVersion: null,
      cause: 'KeyDestroyed' as const,
      ranges,
      count: leaves.length,
      subtrees: leaves.map(toBase64),
    },
  };
  return encodeNotice(facts, '2026-01-02T03:04:05.678Z');
}

export const FORGERIES: readonly NamedChange[] = [
  {
    title: 'a suffix that is chained anew behind a changed event',
    tamper: (db) => replaceEvent(db, 1, 50),
    expected: ['acme', 'ROOT_MISMATCH', 42],
  },
  {
    title: 'a suffix that is chained anew, without the checkpoints over it',
    tamper: (db) => {
      replaceEvent(db, 1, 136);
      db.exec('DELETE FROM checkpoints WHERE tenant = 1 AND size > 136');
    },
    expected: ['acme', 'FORK'],
    control: 'anchor',
  },
  {
    title: 'a purge notice that is appended and not signed, and what it would explain',
    tamper: (db) => {
      writeForged(db, forgedEvent(db, 2, { kind: KINDS.purge, texts: purgeTexts(db, 2, 12, 14) }));
      db.exec(`DELETE FROM contents WHERE id IN (${idAt(2, 12)}, ${idAt(2, 13)})`);
    },
    expected: ['globex', 'GAP_UNEXPLAINED', 12],
  },
  {
    title: 'an event that is turned into a purge notice',
    tamper: (db) => {
      replaceEvent(db, 2, 54, { kind: KINDS.purge, texts: purgeTexts(db, 2, 12, 14) });
      db.exec(`DELETE FROM contents WHERE id IN (${idAt(2, 12)}, ${idAt(2, 13)})`);
    },
    expected: ['globex', 'ROOT_MISMATCH'],
  },
  {
    title: 'an event that is received before the one before it',
    tamper: (db) => void writeForged(db, forgedEvent(db, 2, { receivedAtMs: 1_767_323_046_000 })),
    expected: ['globex', 'TIME_REVERSED', 62],
    control: 'times',
  },
  {
    title: 'an event that names another leaf than the one before it',
    tamper: (db) => void writeForged(db, forgedEvent(db, 2, { previous: new Uint8Array(32) })),
    expected: ['globex', 'CHAIN_BROKEN', 62],
    control: 'chain',
  },
  {
    title: 'another leaf beside an entry',
    tamper: unguarded(`UPDATE entries SET leaf = zeroblob(32) WHERE id = ${idAt(1, 3)}`),
    expected: ['acme', 'LEAF_MISMATCH', 3],
    control: 'leaves',
  },
  {
    title: 'a column that makes a secret event public',
    tamper: unguarded(`UPDATE entries SET classification = 0 WHERE id = ${idAt(1, 3)}`),
    expected: ['acme', 'LEAF_MISMATCH', 3],
    control: ['classification', 'decisions'],
  },
  {
    title: 'content that says that it is sealed',
    tamper: unguarded(`UPDATE contents SET key_id = 'k' WHERE id = ${idAt(1, 3)}`),
    expected: ['acme', 'MALFORMED', 3],
  },
  {
    title: 'an integer beyond all that we write',
    tamper: unguarded(`UPDATE entries SET leaf_index = 9007199254740993 WHERE id = ${idAt(1, 3)}`),
    expected: ['acme', 'MALFORMED'],
  },
];
