// Events of a tenant as the index reads them from journal.db, in the order of the log.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import { decisionIn, DecisionTexts } from '../../event-index/decision-texts.ts';
import { type EventRow, NOWHERE } from '../../event-index/logged-event.ts';
import { SEALED_KEYS, sealedKeysIn, type SealedRows } from '../../sealing/sealed-rows.ts';
import { numberOf, readOr, textIn } from '../../rows/columns.ts';
import { inOneState } from '../connection/database.ts';
import { REDACTION_NOTICES } from '../log/deletions.ts';

// Texts come as texts, which takes half the time that bytes do. Bytes that are none are replaced on the way: nobody but who
// has changed them put them there, and what is found is looked at before it is shown. Of a sealed row come the box and whether
// it is alone: its keys are those of many rows, and each column of bytes costs a tenth of the opening. Rows come as arrays, which
// takes two thirds of the time that objects do: `valuesOf` names the columns.
const COLUMNS = `leaf_index, leaf, entry, contents.key_id,
  CASE WHEN contents.key_id IS NULL THEN CAST(text1 AS TEXT) ELSE text1 END,
  CASE WHEN contents.key_id IS NULL THEN CAST(text2 AS TEXT) END,
  CASE WHEN contents.key_id IS NOT NULL THEN text2 = x'' AND seeds = x'' AND closed IS NULL END,
  contents.decision, ${REDACTION_NOTICES},
  (SELECT stream_id FROM streams WHERE streams.tenant = entries.tenant AND first_index <= leaf_index
   ORDER BY first_index DESC LIMIT 1)`;

function valuesOf(
  values: readonly unknown[],
  tenantId: TenantId,
  decidedBy: (decision?: number) => string | undefined,
) {
  const [leaf_index, leaf, entry, key_id, text1, text2, is_alone, decision, redaction_notices, stream_id] =
    values;
  const decided_by = decidedBy(decisionIn({ decision }));
  return {
    leaf_index,
    leaf,
    entry,
    key_id,
    text1,
    text2,
    is_alone,
    decided_by,
    redaction_notices,
    stream_id,
    tenant_id: tenantId,
  };
}

export interface NumberedTenant {
  readonly tenant: number;
  readonly tenantId: TenantId;
}

export class LoggedEvents {
  readonly #journal: DatabaseSync;
  readonly #ofTenant: StatementSync;
  readonly #keys: StatementSync;
  readonly #decision: StatementSync;
  readonly #decisions = new DecisionTexts<number>();
  readonly #sealed: SealedRows;

  constructor(journal: DatabaseSync, sealed: SealedRows) {
    this.#journal = journal;
    this.#sealed = sealed;
    this.#keys = journal.prepare(SEALED_KEYS);
    this.#ofTenant = journal.prepare(
      `SELECT ${COLUMNS} FROM entries LEFT JOIN contents USING (id)
       WHERE entries.tenant = ? AND leaf_index >= ? AND leaf_index < ? ORDER BY leaf_index LIMIT ?`,
    );
    this.#ofTenant.setReturnArrays(true);
    // It would throw for a number that is too large.
    this.#ofTenant.setReadBigInts(true);
    this.#decision = journal.prepare('SELECT body FROM decisions WHERE tenant = ? AND decision = ?');
  }

  /** Rows of the log, not looked into yet. */
  ofTenant(
    { tenant, tenantId }: NumberedTenant,
    fromIndex: number,
    endIndex: number,
    limit: number,
  ): EventRow[] {
    return inOneState(this.#journal, () => {
      const keysOf = this.#keysIn(tenant);
      const rows = this.#ofTenant.all(tenant, fromIndex, endIndex, limit) as unknown as readonly unknown[][];
      return rows.map((values) => {
        const row = valuesOf(values, tenantId, (decision) => this.#decidedBy(tenant, decision));
        if (row.key_id !== null)
          this.#sealed.openTexts(row, {
            tenant: tenantId,
            keys: keysOf(readOr(() => textIn(row, 'key_id'), '')),
            isAlone: row.is_alone === 1n,
          });
        return { index: readOr(() => numberOf(row, 'leaf_index'), NOWHERE), row };
      });
    });
  }

  /** Each key as it is stored in the state that is read. */
  #keysIn(tenant: number): (keyId: string) => Uint8Array | undefined {
    const known = new Map<string, Uint8Array | undefined>();
    return (keyId) => {
      if (!known.has(keyId)) known.set(keyId, sealedKeysIn(this.#keys.get(tenant, keyId)));
      return known.get(keyId);
    };
  }

  #decidedBy(tenant: number, decision: number | undefined): string | undefined {
    const kept = this.#decisions.of(tenant, decision);
    if (kept !== undefined || decision === undefined) return kept;
    const text = this.#decision.get(tenant, decision)?.['body'];
    if (typeof text !== 'string') return undefined;
    this.#decisions.keep(tenant, decision, text);
    return text;
  }
}
