// Proves entries of a log one by one: what leads to the signed head is proven, and an altered entry takes nothing away from those
// beside it. For the removal of expired content, where one event that somebody has altered must not keep the others.

import { CompactRange, ENTRY_BYTES, EvidenceError, HASH_BYTES } from '@tallystick/evidence';
import type { UnprovenEntry } from '../../streams/removal/proven.ts';
import type { Resumable } from '../resumable.ts';
import type { LogIdentity } from '../rows/log-identity.ts';
import { hashLeaves } from '../tree/leaf-hashes.ts';
import type { WalkResources } from './entries.ts';
import type { RangeStore } from './range.ts';
import { leadsToHead, type SignedHead } from './signed-head.ts';
import { fault } from './store-fault.ts';

/** Entries that are proven at once; where they begin at a multiple of it, the hashes around them are those of few tiles. */
export const PROVEN_AT_ONCE = 256;

/** The end of the lot of entries that an index is in. */
export function lotEnd(log: LogIdentity<unknown>, index: number): number {
  const lots = Math.floor((index - log.firstIndex) / PROVEN_AT_ONCE) + 1;
  return log.firstIndex + lots * PROVEN_AT_ONCE;
}

/** Those of consecutive entries, from an index of the tenant's sequence on, that do not lead to the head. */
export function* unprovenEntries<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  { pool }: WalkResources,
  { log, head }: { readonly log: Log; readonly head: SignedHead },
  firstIndex: number,
  entries: readonly Uint8Array[],
): Resumable<UnprovenEntry[]> {
  const isWhole = entries.every(({ length }) => length === ENTRY_BYTES);
  // A hash of what is no entry leads nowhere.
  const leavesAt = hashLeaves(pool, entries.length, (i) => (isWhole ? entries[i]! : wholeEntry(entries[i]!)));
  const leaves = entries.map((_, i) => pool.digest(leavesAt + i * HASH_BYTES).slice());
  return yield* unprovenLeaves(store, { log, head }, firstIndex, leaves);
}

function wholeEntry(entry: Uint8Array): Uint8Array {
  return entry.length === ENTRY_BYTES ? entry : new Uint8Array(ENTRY_BYTES);
}

/** By halves, down to the single leaves that are at fault. */
function* unprovenLeaves<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  signed: { readonly log: Log; readonly head: SignedHead },
  firstIndex: number,
  leaves: readonly Uint8Array[],
): Resumable<UnprovenEntry[]> {
  const { log, head } = signed;
  const range = CompactRange.of(firstIndex - log.firstIndex, leaves);
  const found = yield* faultOfRange(store, log, head, range);
  if (found === undefined) return [];
  if (leaves.length === 1) return [unproven(firstIndex, found)];
  const half = leaves.length >> 1;
  const before = yield* unprovenLeaves(store, signed, firstIndex, leaves.slice(0, half));
  const behind = yield* unprovenLeaves(store, signed, firstIndex + half, leaves.slice(half));
  return [...before, ...behind];
}

function* faultOfRange<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  log: Log,
  head: SignedHead,
  range: CompactRange,
): Resumable<EvidenceError | undefined> {
  try {
    if (yield* leadsToHead(store, log, head, range)) return undefined;
    return fault('ROOT_MISMATCH', `does not lead to the root that was signed at size ${head.size}`);
  } catch (error) {
    return store.faultOf(error);
  }
}

export function unproven(
  index: number,
  { reason, message }: Pick<EvidenceError, 'reason' | 'message'>,
): UnprovenEntry {
  return { index, reason, message };
}
