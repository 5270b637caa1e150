// How the database is made to take the right index, though it may not have looked at its tables yet: by settings of a search's
// transaction. They count when a statement is planned. One with a name may keep the plan that it got elsewhere, so what is
// asked elsewhere, too, has none here.

import type { Row, Statement, Transaction, Value } from '../connection/database.ts';
import { once } from './parameters.ts';

/** For a whole search: by an index wherever there is one, and by one process for each of the searches that are let in. */
export const BY_INDEXES = once(
  ['enable_seqscan = off', 'jit = off', 'max_parallel_workers_per_gather = 0', "work_mem = '32MB'"]
    .map((setting) => `SET LOCAL ${setting}`)
    .join('; '),
);

const UNSORTED = once('SET LOCAL enable_sort = off');
const SORTED = once('SET LOCAL enable_sort = on');

/** For the first of many in an order that there is an index of: else all of them might be read and sorted. */
export async function inItsOrder(
  transaction: Transaction,
  asked: Statement,
  values: readonly Value[],
): Promise<Row[]> {
  const [, rows] = await Promise.all([
    transaction.query(UNSORTED),
    transaction.query(asked, values),
    transaction.query(SORTED),
  ]);
  return rows;
}
