// What events are proven by, read by id and by place.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Classification, EventId, TenantId } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import type { AlteredEvent, StoredEvidence } from '../../streams/tree.ts';
import { bitsOf } from '../rows/classification-column.ts';
import { MAY_BE_SEEN } from './may-be-seen.ts';
import { CHECKED_COLUMNS, StoredContents } from '../rows/stored-content.ts';
import { evidenceIn, soundEvidenceIn } from '../rows/stored-evidence.ts';

export class EvidenceTables {
  readonly #one: StatementSync;
  readonly #range: StatementSync;
  #contents: StoredContents | undefined;

  constructor(db: DatabaseSync) {
    const select = `SELECT ${CHECKED_COLUMNS} FROM entries LEFT JOIN contents USING (id)`;
    const tenant = (place: number) => `(SELECT tenant FROM tenants WHERE tenant_id = ?${place})`;
    this.#one = db.prepare(`${select} WHERE event_id = ?1 AND tenant = ${tenant(2)} AND ${MAY_BE_SEEN}`);
    this.#range = db.prepare(
      `${select} WHERE tenant = ${tenant(1)} AND leaf_index >= ?2 AND leaf_index < ?3 ORDER BY leaf_index LIMIT ?4`,
    );
    for (const statement of [this.#one, this.#range]) statement.setReadBigInts(true);
  }

  /** One whose text says a class among `visible` is given too, whatever its column says. */
  one(
    tenant: TenantId,
    eventId: EventId,
    visible: readonly Classification[],
  ): StoredEvidence | AlteredEvent | undefined {
    const row = this.#one.get(eventIdBytes(eventId), tenant, bitsOf(visible));
    return soundEvidenceIn(row, (this.#contents ??= new StoredContents()));
  }

  /** As they are stored, whatever that is. */
  range(tenant: TenantId, fromIndex: number, endIndex: number, limit: number): StoredEvidence[] {
    return this.#range.all(tenant, fromIndex, endIndex, limit).map(evidenceIn);
  }
}
