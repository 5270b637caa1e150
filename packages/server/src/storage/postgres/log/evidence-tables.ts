// The evidence for events, read by id and by index.

import type { TenantId } from '@tallystick/contract';
import { eventIdBytes } from '@tallystick/evidence';
import type { AlteredEvent, ProofRequest, StoredEvidence } from '../../../streams/tree.ts';
import { bitsOf } from '../../rows/classification-column.ts';
import { StoredContents } from '../../rows/stored-content.ts';
import { evidenceIn, soundEvidenceIn } from '../../rows/stored-evidence.ts';
import { SealedRows } from '../../sealing/sealed-rows.ts';
import type { Statements } from '../connection/by-tenant.ts';
import { statement } from '../connection/database.ts';
import { noticesFor } from './deletions.ts';
import {
  CHECKED_COLUMNS,
  ENTRIES_WITH_CONTENTS,
  EVENT_ID,
  MAY_BE_SEEN,
  NOTICES_OF_ENTRY,
} from './log-columns.ts';

const ONE = statement(
  `SELECT ${CHECKED_COLUMNS}, ${NOTICES_OF_ENTRY} FROM ${ENTRIES_WITH_CONTENTS}
   WHERE entries.tenant_id = $1 AND ${EVENT_ID} = $2 AND ${MAY_BE_SEEN}`,
);
const RANGE = statement(
  `SELECT ${CHECKED_COLUMNS}, ${NOTICES_OF_ENTRY} FROM ${ENTRIES_WITH_CONTENTS}
   WHERE entries.tenant_id = $1 AND entries.leaf_index >= $2 AND entries.leaf_index < $3
   ORDER BY entries.leaf_index LIMIT $4`,
);

export class EvidenceTables {
  /** Created on demand: it uses memory. */
  #contents: StoredContents | undefined;
  readonly #sealed: SealedRows;

  constructor(sealed = new SealedRows(undefined)) {
    this.#sealed = sealed;
  }

  /** Includes an event whose text has a visible classification even if its column does not. */
  async one(
    statements: Statements,
    tenant: TenantId,
    { eventId, visible }: Pick<ProofRequest, 'eventId' | 'visible'>,
  ): Promise<StoredEvidence | AlteredEvent | undefined> {
    const [row] = await statements.query(ONE, [tenant, eventIdBytes(eventId), bitsOf(visible)]);
    if (row === undefined || !this.#sealed.mayBeSeen(row, visible)) return undefined;
    return soundEvidenceIn(row, await noticesFor(statements, tenant, [row]), this.#checked(), this.#sealed);
  }

  /** The stored values, unchecked. */
  async range(
    statements: Statements,
    tenant: TenantId,
    fromIndex: number,
    endIndex: number,
    limit: number,
  ): Promise<StoredEvidence[]> {
    const rows = await statements.query(RANGE, [tenant, fromIndex, endIndex, limit]);
    return evidenceIn(rows, await noticesFor(statements, tenant, rows), this.#checked(), this.#sealed);
  }

  #checked(): StoredContents {
    return (this.#contents ??= new StoredContents());
  }
}
