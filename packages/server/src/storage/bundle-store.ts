// The contents of a bundle, read from the logs of one tenant on any backend.

import type { StreamId } from '@tallystick/contract';
import type { StoredStream } from '../streams/log.ts';
import type { StoredEvidence } from '../streams/tree.ts';
import type { Awaitable } from './resumable.ts';
import type { LogIdentity } from './rows/log-identity.ts';
import type { StoredTrees } from './tree/stored-trees.ts';

/** Indexes are those of the tenant's sequence unless stated otherwise. */
export interface BundleStore<Log extends LogIdentity<unknown>> extends StoredTrees<Log> {
  stream(streamId: StreamId): Awaitable<StoredStream | undefined>;
  /** The first index after this log: where the next one begins, or the tenant's sequence ends. */
  endOf(log: Log): Awaitable<number>;
  /** The rows from `first` to `end` (exclusive), unchecked. */
  evidence(first: number, end: number): Awaitable<readonly StoredEvidence[]>;
  /** `count` entries from an index of the log on, as they are stored. */
  entries(log: Log, index: number, count: number): Awaitable<readonly { readonly entry: Uint8Array }[]>;
  /** The checkpoint with which the log began after a restore. */
  previousCheckpoint(log: Log): Awaitable<string | undefined>;
}

/** An open store from which bundles are made. */
export interface OpenBundleStore<Log extends LogIdentity<unknown>> extends AsyncDisposable {
  /** Reads the newest committed state. */
  readonly now: BundleStore<Log>;
  /** Reads one fixed state until it is disposed. */
  inOneState(): Awaitable<BundleStore<Log>>;
}
