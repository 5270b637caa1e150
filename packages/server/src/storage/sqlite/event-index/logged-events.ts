// Events of a tenant as the index reads them from journal.db, in the order of the log.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import { decisionIn, DecisionTexts } from '../../event-index/decision-texts.ts';
import { type EventRow, NOWHERE } from '../../event-index/logged-event.ts';
import { SEALED_COLUMNS, type SealedRows } from '../../sealing/sealed-rows.ts';
import { numberOf, readOr } from '../../rows/columns.ts';
import { REDACTION_NOTICES } from '../log/deletions.ts';

/** A row of the log, not looked into yet. */
export interface LoggedRow extends EventRow {
  readonly entry: number;
  readonly tenant: number;
}

// Texts come as texts, which takes half the time that bytes do. Bytes that are none are replaced on the way: nobody but who
// has changed them put them there, and what is found is looked at before it is shown.
const textOf = (column: string) =>
  `CASE WHEN contents.key_id IS NULL THEN CAST(${column} AS TEXT) ELSE ${column} END AS ${column}`;
const COLUMNS = `entries.id AS id, entries.tenant AS tenant, leaf_index, leaf, entry, ${textOf('text1')}, ${textOf('text2')},
  CASE WHEN contents.key_id IS NOT NULL THEN seeds END AS seeds, ${SEALED_COLUMNS.SQLite},
  tenants.tenant_id AS tenant_id, contents.decision AS decision, ${REDACTION_NOTICES},
  (SELECT stream_id FROM streams WHERE streams.tenant = entries.tenant AND first_index <= leaf_index
   ORDER BY first_index DESC LIMIT 1) AS stream_id`;
const TABLES = 'entries LEFT JOIN contents USING (id) JOIN tenants ON tenants.tenant = entries.tenant';

export class LoggedEvents {
  readonly #ofTenant: StatementSync;
  readonly #decision: StatementSync;
  readonly #decisions = new DecisionTexts<number>();
  readonly #sealed: SealedRows;

  constructor(journal: DatabaseSync, sealed: SealedRows) {
    this.#sealed = sealed;
    this.#ofTenant = journal.prepare(
      `SELECT ${COLUMNS} FROM ${TABLES} WHERE entries.tenant = ? AND leaf_index >= ? AND leaf_index < ?
       ORDER BY leaf_index LIMIT ?`,
    );
    // It would throw for a number that is too large.
    this.#ofTenant.setReadBigInts(true);
    this.#decision = journal.prepare('SELECT body FROM decisions WHERE tenant = ? AND decision = ?');
  }

  ofTenant(tenant: number, fromIndex: number, endIndex: number, limit: number): LoggedRow[] {
    return this.#ofTenant.all(tenant, fromIndex, endIndex, limit).map((row) => {
      const decided_by = this.#decidedBy(tenant, decisionIn(row));
      return loggedRow(Object.assign(this.#sealed.openTexts(row), { decided_by }));
    });
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

function loggedRow(row: Readonly<Record<string, unknown>>): LoggedRow {
  return {
    entry: numberOf(row, 'id'),
    tenant: numberOf(row, 'tenant'),
    index: readOr(() => numberOf(row, 'leaf_index'), NOWHERE),
    row,
  };
}
