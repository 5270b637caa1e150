// The words of SQLite in which the statements about work differ from those of PostgreSQL. `now_ms` is a function of the connection.

import type { Dialect } from '../../work/job-statements.ts';

const among = (column: string, list: string) => `${column} IN (SELECT value FROM json_each(${list}))`;

export function sqliteJobDialect<S>(prepare: (text: string) => S): Dialect<S> {
  return {
    now: 'now_ms()',
    orNow: (column) => `coalesce(${column}, now_ms())`,
    lock: '',
    skipLocked: '',
    lockLanes: undefined,
    among,
    oneOf: (column, list) => `(${list} IS NULL OR ${among(column, list)})`,
    rowsOf: (list, columns) => {
      const each = Object.keys(columns).map((column) => `value ->> '$.${column}' AS ${column}`);
      return `(SELECT ${each.join(', ')} FROM json_each(${list})) AS given`;
    },
    // There is no LATERAL, so the list has one row.
    ofEach: (list, _, select) => `(${select((column) => `(${list} ->> '$[0].${column}')`)}) AS found`,
    idIn: (ids) => `job_id IN (${ids})`,
    prepare: (text) => prepare(text.replaceAll(/\$(\d+)/g, '?$1')),
  };
}
