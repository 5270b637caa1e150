// The columns of journal.db that are evidence, and why others are not. A new table must be added to tables.ts;
// tests/faults/tamper.test.ts fails until it is.

import { evidenceColumns, notEvidence } from '../../fsck/evidence-columns.ts';

export const EVIDENCE_COLUMNS = evidenceColumns('SQLite');
export const NOT_EVIDENCE = notEvidence('SQLite');
