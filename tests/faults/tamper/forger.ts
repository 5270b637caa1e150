// One who can write to the database at will and knows all our code, but has no signing key: entries that hang together,
// with contents that fit, made anew from any index on.

import type { DatabaseSync } from 'node:sqlite';
import {
  decodeEntry,
  encodeEntry,
  encodeEvent,
  type Entry,
  eventIdText,
  KINDS,
  leafHash,
} from '@tallystick/evidence';
import { expiryAfter } from '../../../packages/server/src/runtime/expiry.ts';
import { Commitments, SEEDS_BYTES } from '../../../packages/server/src/storage/pool/commitments.ts';

export interface ForgedEntry extends Omit<Entry, 'content'> {
  /** The tenant's number. */
  readonly tenant: number;
  /** In the tenant's sequence. */
  readonly sequenceIndex: number;
  readonly texts: readonly [Uint8Array, Uint8Array];
  readonly classification: number;
}

const COLUMNS = 'id, tenant, leaf_index, classification, entry, leaf, root1, root2';

/** Writes entry and content as the service would; returns the leaf. */
export function writeForged(db: DatabaseSync, forged: ForgedEntry, id?: number): Uint8Array {
  const seeds = new Uint8Array(SEEDS_BYTES).fill(7);
  const { root1, root2, content } = committed(forged.texts, seeds);
  const entry = encodeEntry({ ...forged, content });
  const leaf = leafHash(entry);
  const own = id ?? Number(db.prepare('SELECT max(id) + 1 AS id FROM entries').get()!['id']);
  db.prepare(`INSERT OR REPLACE INTO entries (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`).run(
    own,
    forged.tenant,
    forged.sequenceIndex,
    forged.classification,
    entry,
    leaf,
    root1,
    root2,
  );
  db.prepare(
    'INSERT OR REPLACE INTO contents (id, text1, text2, seeds, expires_at_ms) VALUES (?, ?, ?, ?, ?)',
  ).run(own, forged.texts[0], forged.texts[1], seeds, expiryOf(forged));
  return leaf;
}

/** As the usual settings decide. */
export function expiryOf({ kind, receivedAtMs }: Pick<Entry, 'kind' | 'receivedAtMs'>): number | null {
  return kind === KINDS.event ? expiryAfter(receivedAtMs, 'P7Y') : null;
}

/** What the service would store of these texts. */
export function committed(texts: ForgedEntry['texts'], seeds: Uint8Array) {
  const commitments = new Commitments();
  commitments.begin(seeds);
  commitments.add(texts);
  commitments.run();
  const [root1, root2, content] = [new Uint8Array(32), new Uint8Array(32), new Uint8Array(32)];
  commitments.copyRoot(0, 1, root1, 0);
  commitments.copyRoot(0, 2, root2, 0);
  commitments.copyContent(0, content, 0);
  return { root1, root2, content };
}

export interface LogEnd {
  readonly size: number;
  readonly leaf: Uint8Array;
  readonly receivedAtMs: number;
}

export function endOf(db: DatabaseSync, tenant: number): LogEnd {
  const row = db
    .prepare('SELECT leaf_index, entry, leaf FROM entries WHERE tenant = ? ORDER BY leaf_index DESC LIMIT 1')
    .get(tenant)!;
  const { receivedAtMs } = decodeEntry(row['entry'] as Uint8Array);
  return { size: Number(row['leaf_index']) + 1, leaf: row['leaf'] as Uint8Array, receivedAtMs };
}

/** Links all entries from an index on to what is before them now. */
export function chainAnew(db: DatabaseSync, tenant: number, from: number): void {
  const rows = db
    .prepare(`SELECT ${COLUMNS} FROM entries WHERE tenant = ? AND leaf_index >= ? ORDER BY leaf_index`)
    .all(tenant, from - 1);
  let previous = rows[0]!['leaf'] as Uint8Array;
  const write = db.prepare(`INSERT OR REPLACE INTO entries (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`);
  for (const row of rows.slice(1)) {
    const entry = encodeEntry({ ...decodeEntry(row['entry'] as Uint8Array), previous });
    previous = leafHash(entry);
    const { id, leaf_index, classification, root1, root2 } = row;
    write.run(id!, tenant, leaf_index!, classification!, entry, previous, root1!, root2!);
  }
}

/** An event that fits behind the last one of the tenant, but for `more`. */
export function forgedEvent(db: DatabaseSync, tenant: number, more: Partial<ForgedEntry> = {}): ForgedEntry {
  const { size, leaf, receivedAtMs } = endOf(db, tenant);
  const [one, two] = encodeEvent({ action: 'Forge.Invoice', classification: 'Internal', outcome: 'Success' });
  return {
    tenant,
    sequenceIndex: size,
    kind: KINDS.event,
    index: size,
    receivedAtMs,
    eventId: eventIdText(crypto.getRandomValues(new Uint8Array(16)).with(0, 1)),
    previous: leaf,
    texts: [one.bytes, two.bytes],
    classification: 1,
    ...more,
  };
}
