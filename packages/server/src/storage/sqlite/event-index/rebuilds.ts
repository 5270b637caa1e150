// Rebuilds that were asked for, each with the view that it makes: the record of the work outlives the work, and the view
// outlives a restart.

import type { DatabaseSync, StatementSync } from 'node:sqlite';
import type { Rebuild } from '../../../admin/rebuild.ts';
import { numberOf, numberOrNone, textIn } from '../../rows/columns.ts';

export type RebuildRequest = Pick<Rebuild, 'operationId' | 'requestedAtMs' | 'requestedBy'>;

export class Rebuilds {
  readonly #add: StatementSync;
  readonly #find: StatementSync;
  readonly #begin: StatementSync;
  readonly #complete: StatementSync;

  constructor(db: DatabaseSync) {
    this.#add = db.prepare(
      'INSERT INTO rebuilds (operation_id, tenant, view, requested_ms, requested_by) VALUES (?, ?, ?, ?, ?)',
    );
    this.#find = db.prepare(
      `SELECT rebuilds.*, made.next_index AS done, current.next_index AS whole
       FROM rebuilds
       LEFT JOIN views made ON made.view = rebuilds.view
       LEFT JOIN views current ON current.tenant = rebuilds.tenant AND current.state = 'Current'
       WHERE operation_id = ? AND rebuilds.tenant = ?`,
    );
    // The wall clock may have been turned back since.
    this.#begin = db.prepare(
      'UPDATE rebuilds SET started_ms = max(requested_ms, ?) WHERE view = ? AND started_ms IS NULL',
    );
    this.#complete = db.prepare(
      'UPDATE rebuilds SET completed_ms = max(started_ms, ?), events = ? WHERE view = ?',
    );
  }

  add(tenant: number, view: number, { operationId, requestedAtMs, requestedBy }: RebuildRequest): void {
    this.#add.run(operationId, tenant, view, requestedAtMs, requestedBy);
  }

  /** Something of it is done now, if nothing was before. */
  begin(view: number, nowMs: number): void {
    this.#begin.run(nowMs, view);
  }

  /** The view answers now, with so many events; it was begun before. */
  complete(view: number, events: number, nowMs: number): void {
    this.#complete.run(nowMs, events, view);
  }

  find(tenant: number, operationId: string): Rebuild | undefined {
    const row = this.#find.get(operationId, tenant);
    if (row === undefined) return undefined;
    const events = numberOrNone(row, 'events');
    return {
      operationId: textIn(row, 'operation_id'),
      requestedAtMs: numberOf(row, 'requested_ms'),
      requestedBy: textIn(row, 'requested_by'),
      processedEvents: events ?? numberOrNone(row, 'done') ?? 0,
      totalEvents: events ?? numberOrNone(row, 'whole') ?? 0,
      startedAtMs: numberOrNone(row, 'started_ms'),
      completedAtMs: numberOrNone(row, 'completed_ms'),
    };
  }
}
