// What a bundle is made of, read from the logs of one tenant in a store of any kind.

import type { StreamId } from '@tallystick/contract';
import type { StoredStream } from '../streams/log.ts';
import type { StoredEvidence } from '../streams/tree.ts';
import type { Awaitable } from './answers.ts';
import type { LogIdentity } from './rows/log-place.ts';
import type { TenantTrees } from './tree/tenant-trees.ts';

/** Indexes are those of the tenant's sequence, unless they are said to be of the log. */
export interface BundleStore<Log extends LogIdentity<unknown>> extends TenantTrees<Log> {
  stream(streamId: StreamId): Awaitable<StoredStream | undefined>;
  /** The first index behind this log: where the next one begins, or the tenant's sequence ends. */
  endOf(log: Log): Awaitable<number>;
  /** As they are stored, whatever that is: those from one index to another, the second one outside. */
  evidence(first: number, end: number): Awaitable<readonly StoredEvidence[]>;
  /** So many entries from an index of the log on, as they are stored. */
  entries(log: Log, index: number, count: number): Awaitable<readonly { readonly entry: Uint8Array }[]>;
  /** With which the log says that it began, after a restore. */
  previousCheckpoint(log: Log): Awaitable<string | undefined>;
}

/** A store that is open for whoever makes bundles. */
export interface OpenBundleStore<Log extends LogIdentity<unknown>> extends AsyncDisposable {
  /** What is read last is newest. */
  readonly now: BundleStore<Log>;
  /** Of one state, from here on until it is disposed. */
  inOneState(): Awaitable<BundleStore<Log>>;
}
