// Whether an event with the id of a draft is there already, in the log or earlier in the same request. It is the same
// event when its fields were sent the same, which their fingerprints tell; an id whose content was removed is taken,
// since nothing can be compared any more. Ids that the service chose are fresh and are not looked up.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { decodeEntry, eventIdBytes } from '@tallystick/evidence';
import type { PooledDraft } from '../pool/append-message.ts';
import type { Recognized } from '../pool/pool-tables.ts';
import { blobOf, blobOrNone, numberOf } from '../rows/columns.ts';
import { isSameFingerprint } from '../rows/used-key-row.ts';

export class Recognizer {
  readonly #find: StatementSync;

  constructor(db: DatabaseSync) {
    this.#find = db.prepare(
      `SELECT leaf_index, entry, sent_fingerprint FROM entries LEFT JOIN contents USING (id)
       WHERE event_id = ? AND tenant = ?`,
    );
  }

  /** By place; shorter where none can be recognised. */
  recognize(tenant: number, drafts: readonly PooledDraft[]): Recognized[] {
    if (drafts.every(({ sentFingerprint }) => sentFingerprint === undefined)) return [];
    const earlier = new Map<string, number>();
    return drafts.map((draft, i) => {
      const stored = this.#inLog(tenant, draft);
      if (stored !== undefined) return stored;
      const first = earlier.get(draft.eventId);
      if (first === undefined) {
        earlier.set(draft.eventId, i);
        return undefined;
      }
      return isSameFingerprint(drafts[first]!.sentFingerprint, draft.sentFingerprint) ? first : 'Conflict';
    });
  }

  #inLog(tenant: number, { eventId, sentFingerprint }: PooledDraft): Recognized {
    if (sentFingerprint === undefined) return undefined;
    const row = this.#find.get(eventIdBytes(eventId), tenant);
    if (row === undefined) return undefined;
    if (!isSameFingerprint(blobOrNone(row, 'sent_fingerprint'), sentFingerprint)) return 'Conflict';
    const { receivedAtMs } = decodeEntry(blobOf(row, 'entry'));
    return { index: numberOf(row, 'leaf_index'), receivedAtMs };
  }
}
