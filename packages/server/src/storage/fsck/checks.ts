// The checks of which the verification of a store consists. All of them run; a test takes one away to see that the
// change which it is there for is then missed.

export const CHECKS = [
  /** The database's own, of pages and indexes. */
  'file',
  /** Tables, columns, indexes and triggers are those that this program makes. */
  'schema',
  /** Rows of tenants that are not there, contents without an entry. */
  'strays',
  'leaves',
  'chain',
  'times',
  'values',
  'classification',
  'deletions',
  'streams',
  /** Where a log ends, if there is a row that says it. */
  'heads',
  /** Records are what their notices commit to. */
  'records',
  'tiles',
  'checkpoints',
  'anchor',
] as const;

export type Check = (typeof CHECKS)[number];
export type Checks = ReadonlySet<Check>;

export const ALL_CHECKS: Checks = new Set(CHECKS);
