// Views that others have taken the place of: removed portion by portion, by whichever node comes to it.

import { numberOf, textIn } from '../../rows/columns.ts';
import { ALL_TENANTS, type Database, statement } from '../connection/database.ts';
import { lockViewIn } from './views.ts';

const REMOVED_PORTION = 2000;

// What is lost with a crash is made again, with its position.
export const NOT_DURABLY = statement('SET LOCAL synchronous_commit = off');
const REMOVE_DOCS = statement(
  `DELETE FROM docs WHERE tenant_id = $1 AND generation = $2 AND leaf_index = ANY (ARRAY(
     SELECT leaf_index FROM docs WHERE tenant_id = $1 AND generation = $2 LIMIT ${REMOVED_PORTION}))`,
);
const REMOVE_REST = ['view_counts', 'view_keys', 'views'].map((table) =>
  statement(`DELETE FROM ${table} WHERE tenant_id = $1 AND generation = $2`),
);

/** A portion of one of them; true when there may be more. */
export async function removeOldPortion(database: Database): Promise<boolean> {
  return database.inTransaction(ALL_TENANTS, async (transaction) => {
    await transaction.query(NOT_DURABLY);
    const old = await lockViewIn(transaction, 'Old');
    if (old === undefined) return false;
    const own = [textIn(old, 'tenant_id'), numberOf(old, 'generation')];
    const removed = await transaction.change(REMOVE_DOCS, own);
    if (removed === REMOVED_PORTION) return true;
    for (const each of REMOVE_REST) await transaction.change(each, own);
    return true;
  });
}
