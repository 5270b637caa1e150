// What of the tables of the database is evidence, and why the rest is not. A table that comes new to the schema must find its
// place in tables.ts; tests/faults/tamper-postgres.test.ts goes red until it does.

import { evidenceColumns, notEvidence } from '../../fsck/evidence-columns.ts';

export const EVIDENCE_COLUMNS = evidenceColumns('PostgreSQL');
export const NOT_EVIDENCE = notEvidence('PostgreSQL', {
  'entries.content_month (content purged)': 'where a content was that is gone',
  'pages and indexes (of the database itself)': 'for pg_amcheck and the checksums of PostgreSQL',
});
