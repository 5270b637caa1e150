// Events of a tenant as the index reads them from journal.db, in the order of the log.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { decisionIn, DecisionTexts } from '../../event-index/decision-texts.ts';
import { type EventRow, NOWHERE } from '../../event-index/logged-event.ts';
import { SEALED_KEYS, sealedKeysIn, type SealedRows } from '../../sealing/sealed-rows.ts';
import { numberOf, readOr, textIn } from '../../rows/columns.ts';
import { inOneState } from '../connection/database.ts';
import { REDACTION_NOTICES } from '../log/deletions.ts';

type Row = Readonly<Record<string, unknown>>;

/** A row of the log, not looked into yet. */
export interface LoggedRow extends EventRow {
  readonly entry: number;
  readonly tenant: number;
}

// Texts come as texts, which takes half the time that bytes do. Bytes that are none are replaced on the way: nobody but who
// has changed them put them there, and what is found is looked at before it is shown. Of a sealed row come the box and whether
// it is alone: its keys are those of many rows, and each column of bytes costs a tenth of the opening.
const COLUMNS = `entries.id AS id, entries.tenant AS tenant, leaf_index, leaf, entry, contents.key_id,
  CASE WHEN contents.key_id IS NULL THEN CAST(text1 AS TEXT) ELSE text1 END AS text1,
  CASE WHEN contents.key_id IS NULL THEN CAST(text2 AS TEXT) END AS text2,
  CASE WHEN contents.key_id IS NOT NULL THEN text2 = x'' AND seeds = x'' END AS is_alone,
  tenants.tenant_id AS tenant_id, contents.decision AS decision, ${REDACTION_NOTICES},
  (SELECT stream_id FROM streams WHERE streams.tenant = entries.tenant AND first_index <= leaf_index
   ORDER BY first_index DESC LIMIT 1) AS stream_id`;
const TABLES = 'entries LEFT JOIN contents USING (id) JOIN tenants ON tenants.tenant = entries.tenant';

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
      `SELECT ${COLUMNS} FROM ${TABLES} WHERE entries.tenant = ? AND leaf_index >= ? AND leaf_index < ?
       ORDER BY leaf_index LIMIT ?`,
    );
    // It would throw for a number that is too large.
    this.#ofTenant.setReadBigInts(true);
    this.#decision = journal.prepare('SELECT body FROM decisions WHERE tenant = ? AND decision = ?');
  }

  ofTenant(tenant: number, fromIndex: number, endIndex: number, limit: number): LoggedRow[] {
    return inOneState(this.#journal, () => {
      const keysOf = this.#keysIn(tenant);
      return this.#ofTenant.all(tenant, fromIndex, endIndex, limit).map((row) => {
        const decided_by = this.#decidedBy(tenant, decisionIn(row));
        return loggedRow(Object.assign(this.#opened(row, keysOf), { decided_by }));
      });
    });
  }

  #opened(row: Row, keysOf: (keyId: string) => Uint8Array | undefined): Row {
    if (row['key_id'] === null) return row;
    return this.#sealed.openTexts(row, {
      tenant: readOr(() => textIn(row, 'tenant_id'), ''),
      keys: keysOf(readOr(() => textIn(row, 'key_id'), '')),
      isAlone: row['is_alone'] === 1n,
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

function loggedRow(row: Row): LoggedRow {
  return {
    entry: numberOf(row, 'id'),
    tenant: numberOf(row, 'tenant'),
    index: readOr(() => numberOf(row, 'leaf_index'), NOWHERE),
    row,
  };
}
