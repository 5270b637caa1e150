// One who can write to the database at will and knows all our code, but has no signing key.

import {
  decodeEntry,
  encodeEntry,
  encodeEvent,
  type Entry,
  eventIdText,
  KINDS,
  leafHash,
} from '@tallystick/evidence';
import { SEEDS_BYTES } from '../../../../packages/server/src/storage/pool/commitments.ts';
import { committed, expiryOf } from '../forger.ts';
import type { Say } from './tampered-database.ts';

export interface ForgedEntry extends Omit<Entry, 'content'> {
  readonly tenant: string;
  readonly texts: readonly [Uint8Array, Uint8Array];
  readonly classification: number;
}

/** Writes entry and content as the service would, in the place of what is there. */
export async function writeForged(say: Say, forged: ForgedEntry): Promise<void> {
  const { tenant, index, classification, texts } = forged;
  const seeds = new Uint8Array(SEEDS_BYTES).fill(7);
  const { root1, root2, content } = committed(texts, seeds);
  const entry = encodeEntry({ ...forged, content });
  const bytes = [entry, leafHash(entry), root1, root2].map((each) => Buffer.from(each));
  await say(
    `INSERT INTO entries (tenant_id, leaf_index, classification, content_month, entry, leaf, root1, root2)
     VALUES ($1, $2, $3, 0, $4, $5, $6, $7) ON CONFLICT (tenant_id, leaf_index) DO UPDATE
     SET classification = excluded.classification, entry = excluded.entry, leaf = excluded.leaf,
       root1 = excluded.root1, root2 = excluded.root2`,
    [tenant, index, classification, ...bytes],
  );
  await say('DELETE FROM contents WHERE tenant_id = $1 AND leaf_index = $2', [tenant, index]);
  await say(
    `INSERT INTO contents (tenant_id, leaf_index, content_month, text1, text2, seeds, expires_at_ms)
     SELECT tenant_id, leaf_index, content_month, $3, $4, $5, $6 FROM entries WHERE tenant_id = $1 AND leaf_index = $2`,
    [tenant, index, ...[...texts, seeds].map((each) => Buffer.from(each)), expiryOf(forged)],
  );
  await moveHead(say, tenant);
}

/** The head says what the log is now. */
export async function moveHead(say: Say, tenant: string): Promise<void> {
  await say(
    `UPDATE heads SET next_index = coalesce((SELECT max(leaf_index) + 1 FROM entries WHERE tenant_id = $1), 0),
       leaf = (SELECT leaf FROM entries WHERE tenant_id = $1 ORDER BY leaf_index DESC LIMIT 1) WHERE tenant_id = $1`,
    [tenant],
  );
}

/** An event that fits behind the last one of the tenant, but for `more`. */
export async function forgedEvent(
  say: Say,
  tenant: string,
  more: Partial<ForgedEntry> = {},
): Promise<ForgedEntry> {
  const [last] = await say(
    'SELECT leaf_index, entry, leaf FROM entries WHERE tenant_id = $1 ORDER BY leaf_index DESC LIMIT 1',
    [tenant],
  );
  const [one, two] = encodeEvent({ action: 'Forge.Invoice', classification: 'Internal', outcome: 'Success' });
  return {
    tenant,
    kind: KINDS.event,
    index: Number(last!['leaf_index']) + 1,
    receivedAtMs: decodeEntry(last!['entry'] as Uint8Array).receivedAtMs,
    eventId: eventIdText(crypto.getRandomValues(new Uint8Array(16)).with(0, 1)),
    previous: last!['leaf'] as Uint8Array,
    texts: [one.bytes, two.bytes],
    classification: 1,
    ...more,
  };
}

/** Puts another event in the place of one, and links all that follows to it. */
export async function replaceEvent(
  say: Say,
  tenant: string,
  index: number,
  more: Partial<ForgedEntry> = {},
): Promise<void> {
  const rows =
    'SELECT entry, leaf FROM entries WHERE tenant_id = $1 AND leaf_index >= $2 ORDER BY leaf_index';
  const [before, own] = await say(`${rows} LIMIT 2`, [tenant, index - 1]);
  const { receivedAtMs } = decodeEntry(own!['entry'] as Uint8Array);
  const previous = before!['leaf'] as Uint8Array;
  await writeForged(say, await forgedEvent(say, tenant, { previous, index, receivedAtMs, ...more }));
  const [forged, ...followers] = await say(rows, [tenant, index]);
  let leaf = forged!['leaf'] as Uint8Array;
  for (const { entry: bytes } of followers) {
    const decoded = decodeEntry(bytes as Uint8Array);
    const entry = encodeEntry({ ...decoded, previous: leaf });
    leaf = leafHash(entry);
    await say('UPDATE entries SET entry = $3, leaf = $4 WHERE tenant_id = $1 AND leaf_index = $2', [
      tenant,
      decoded.index,
      Buffer.from(entry),
      Buffer.from(leaf),
    ]);
  }
  await moveHead(say, tenant);
}
