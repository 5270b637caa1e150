// Rebuilds that were asked for, each with the view that it makes: the record of the work outlives the work, and the view
// outlives a restart.

import type { TenantId } from '@tallystick/contract';
import type { Rebuild } from '../../../admin/rebuild.ts';
import { numberOf, numberOrNone, textIn } from '../../rows/columns.ts';
import { type Database, statement, type Transaction } from '../database.ts';
import type { View } from './views.ts';

export type RebuildRequest = Pick<Rebuild, 'operationId' | 'requestedAtMs' | 'requestedBy'>;

// It comes after all others that the tenant ever had. Of two who ask at once, the second finds one in the making.
const ADD_VIEW = statement(
  `INSERT INTO views (tenant_id, generation, state)
   SELECT heads.tenant_id, greatest(coalesce((SELECT max(generation) FROM views
       WHERE views.tenant_id = heads.tenant_id), 1), $2) + 1, 'Building' FROM heads WHERE heads.tenant_id = $1
   ON CONFLICT DO NOTHING RETURNING generation`,
);
const LAST = statement(
  'SELECT coalesce(max(generation), 1) AS generation FROM rebuilds WHERE tenant_id = $1',
);
const ADD = statement(
  `INSERT INTO rebuilds (tenant_id, operation_id, generation, requested_ms, requested_by)
   VALUES ($1, $2, $3, $4, $5)`,
);
const FIND = statement(
  `SELECT rebuilds.*, made.next_index AS done, answers.next_index AS whole
   FROM rebuilds
   LEFT JOIN views AS made ON made.tenant_id = rebuilds.tenant_id AND made.generation = rebuilds.generation
   LEFT JOIN views AS answers ON answers.tenant_id = rebuilds.tenant_id AND answers.state = 'Current'
   WHERE rebuilds.tenant_id = $1 AND operation_id = $2`,
);
// The wall clock may have been turned back since.
const BEGIN = statement(
  `UPDATE rebuilds SET started_ms = greatest(requested_ms, $3)
   WHERE tenant_id = $1 AND generation = $2 AND started_ms IS NULL`,
);
const COMPLETE = statement(
  `UPDATE rebuilds SET completed_ms = greatest(started_ms, $3), events = $4
   WHERE tenant_id = $1 AND generation = $2`,
);
const HAS_TENANT = statement('SELECT 1 FROM tenants WHERE tenant_id = $1');

/** The view of a tenant is made anew; undefined while that is going on already, or if there is no such tenant. */
export async function addRebuild(
  database: Database,
  tenant: TenantId,
  { operationId, requestedAtMs, requestedBy }: RebuildRequest,
): Promise<Rebuild | undefined> {
  return database.inTransaction({ role: 'Writer', tenants: [tenant] }, async (transaction) => {
    if ((await transaction.query(HAS_TENANT, [tenant])).length === 0) return undefined;
    const [last] = await transaction.query(LAST, [tenant]);
    const [view] = await transaction.query(ADD_VIEW, [tenant, numberOf(last, 'generation')]);
    if (view === undefined) return undefined;
    const generation = numberOf(view, 'generation');
    await transaction.change(ADD, [tenant, operationId, generation, requestedAtMs, requestedBy]);
    return rebuildIn(transaction, tenant, operationId);
  });
}

export async function rebuildIn(
  transaction: Transaction,
  tenant: TenantId,
  operationId: string,
): Promise<Rebuild | undefined> {
  const [row] = await transaction.query(FIND, [tenant, operationId]);
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

/** Something of it is done now, if nothing was before. */
export async function markBegun(
  transaction: Transaction,
  { tenant, generation }: View,
  nowMs: number,
): Promise<void> {
  await transaction.change(BEGIN, [tenant, generation, nowMs]);
}

/** The view answers now, with so many events; it was begun before. */
export async function markComplete(
  transaction: Transaction,
  { tenant, generation }: View,
  events: number,
  nowMs: number,
): Promise<void> {
  await transaction.change(COMPLETE, [tenant, generation, nowMs, events]);
}
