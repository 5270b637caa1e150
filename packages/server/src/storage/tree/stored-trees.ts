// The trees of one tenant's logs, for proofs and verifications on any backend.

import type { HashReader } from '@tallystick/evidence';
import type { StoredCheckpoint } from '../../streams/tree.ts';
import type { Awaitable } from '../resumable.ts';
import type { LogIdentity } from '../rows/log-identity.ts';

export interface StoredTrees<Log extends LogIdentity<unknown>> {
  /** The log that holds this index of the tenant's sequence; without an index, the current log. */
  log(index?: number): Awaitable<Log | undefined>;
  latest(log: Log): Awaitable<StoredCheckpoint | undefined>;
  /** The one of exactly this size. */
  checkpoint(log: Log, size: number): Awaitable<StoredCheckpoint | undefined>;
  /**
   * Applies `make` to the hashes of the tree at a size that is stored. `make` may be called twice, first with
   * placeholders to find out which hashes it reads, so it must only combine them.
   */
  made<T>(log: Log, size: number, make: (read: HashReader) => T): Awaitable<T>;
}
