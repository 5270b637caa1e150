// The evidence for events, read by id and by index.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Classification, EventId, TenantId } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import type { AlteredEvent, StoredEvidence } from '../../../streams/tree.ts';
import { bitsOf } from '../../rows/classification-column.ts';
import { SealedRows } from '../../sealing/sealed-rows.ts';
import { NOTICES_OF_ENTRY } from './deletions.ts';
import { MAY_BE_SEEN } from './may-be-seen.ts';
import { noticesNamedBy } from '../../rows/removed-rows.ts';
import { CHECKED_COLUMNS, StoredContents } from '../../rows/stored-content.ts';
import { evidenceIn, soundEvidenceIn } from '../../rows/stored-evidence.ts';

type Row = Readonly<Record<string, unknown>>;

export class EvidenceTables {
  readonly #one: StatementSync;
  readonly #range: StatementSync;
  readonly #at: StatementSync;
  readonly #sealed: SealedRows;
  #contents: StoredContents | undefined;

  constructor(db: DatabaseSync, sealed = new SealedRows(undefined)) {
    this.#sealed = sealed;
    const select = `SELECT ${CHECKED_COLUMNS}, ${NOTICES_OF_ENTRY} FROM entries LEFT JOIN contents USING (id)`;
    const tenant = (place: number) => `(SELECT tenant FROM tenants WHERE tenant_id = ?${place})`;
    this.#one = db.prepare(`${select} WHERE event_id = ?1 AND tenant = ${tenant(2)} AND ${MAY_BE_SEEN}`);
    this.#range = db.prepare(
      `${select} WHERE tenant = ${tenant(1)} AND leaf_index >= ?2 AND leaf_index < ?3 ORDER BY leaf_index LIMIT ?4`,
    );
    this.#at = db.prepare(`${select} WHERE tenant = ${tenant(1)} AND leaf_index = ?2`);
    for (const statement of [this.#one, this.#range, this.#at]) statement.setReadBigInts(true);
  }

  /** Includes an event whose text has a visible classification even if its column does not. */
  one(
    tenant: TenantId,
    eventId: EventId,
    visible: readonly Classification[],
  ): StoredEvidence | AlteredEvent | undefined {
    const row = this.#one.get(eventIdBytes(eventId), tenant, bitsOf(visible));
    if (row === undefined || !this.#sealed.mayBeSeen(row, visible)) return undefined;
    return soundEvidenceIn(row, this.#noticesOf(tenant, [row]), this.#checked(), this.#sealed);
  }

  /** The stored values, unchecked. */
  range(tenant: TenantId, fromIndex: number, endIndex: number, limit: number): StoredEvidence[] {
    const rows = this.#range.all(tenant, fromIndex, endIndex, limit);
    return evidenceIn(rows, this.#noticesOf(tenant, rows), this.#checked(), this.#sealed);
  }

  #noticesOf(tenant: TenantId, rows: readonly Row[]): (Row | undefined)[] {
    return noticesNamedBy(rows).map((index) => this.#at.get(tenant, index));
  }

  /** Created on demand: it uses memory. */
  #checked(): StoredContents {
    return (this.#contents ??= new StoredContents());
  }
}
