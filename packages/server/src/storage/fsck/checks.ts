// The checks of a store verification. All of them run; a test disables one to show that its change is then missed.

const CHECKS = [
  /** The database's own check of pages and indexes. */
  'file',
  /** Tables, columns, indexes and triggers match the schema of this program. */
  'schema',
  /** Rows of missing tenants, and contents without an entry. */
  'strays',
  'leaves',
  'chain',
  'times',
  'values',
  'classification',
  'deletions',
  'streams',
  /** The end of a log, if a row states it. */
  'heads',
  /** Records match the commitments in their notices. */
  'records',
  /** The keys of tenants open, each for its place. */
  'keys',
  /** Decisions about events, and when they expire, follow from settings and policies. */
  'decisions',
  /** Nothing was removed that a hold covered. */
  'holds',
  'tiles',
  'checkpoints',
  'anchor',
] as const;

export type Check = (typeof CHECKS)[number];
export type Checks = ReadonlySet<Check>;

export const ALL_CHECKS: Checks = new Set(CHECKS);
