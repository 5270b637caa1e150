// What of the tables of journal.db is evidence, and why the rest is not. A table that comes new to the schema must find its
// place in tables.ts; tests/faults/tamper.test.ts goes red until it does.

import { evidenceColumns, notEvidence } from '../../fsck/evidence-columns.ts';

export const EVIDENCE_COLUMNS = evidenceColumns('SQLite');
export const NOT_EVIDENCE = notEvidence('SQLite');
