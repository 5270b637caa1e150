// The trees of one tenant's logs, as whoever proves or verifies something reads them from a store of any kind.

import type { HashReader } from '@tallystick/evidence';
import type { StoredCheckpoint } from '../../streams/tree.ts';
import type { Awaitable } from '../answers.ts';
import type { LogIdentity } from '../rows/log-place.ts';

export interface TenantTrees<Log extends LogIdentity<unknown>> {
  /** The log that holds this index of the tenant's sequence; without one, that which is written to now. */
  log(index?: number): Awaitable<Log | undefined>;
  latest(log: Log): Awaitable<StoredCheckpoint | undefined>;
  /** The one of exactly this size. */
  checkpoint(log: Log, size: number): Awaitable<StoredCheckpoint | undefined>;
  /**
   * What `make` makes of the hashes of the tree at one size, which must not be larger than what is stored of it. It may
   * be called twice, first with hashes that do not matter, to learn which ones it reads: it only puts them together.
   */
  made<T>(log: Log, size: number, make: (read: HashReader) => T): Awaitable<T>;
}
