// The columns of the database that are evidence, and why others are not. A new table must be added to tables.ts;
// tests/faults/tamper-postgres.test.ts fails until it is.

import { evidenceColumns, notEvidence } from '../../fsck/evidence-columns.ts';

export const EVIDENCE_COLUMNS = evidenceColumns('PostgreSQL');
export const NOT_EVIDENCE = notEvidence('PostgreSQL', {
  'entries.content_month (content purged)': 'the former partition of removed content',
  'pages and indexes (of the database itself)': 'for pg_amcheck and the checksums of PostgreSQL',
});
