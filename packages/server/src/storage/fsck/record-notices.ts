// Reads a tenant's logs for the notices that commit to records. All entries are read, and held against the newest signed checkpoint:
// a column or a content could hide a notice, and the tree cannot.

import { decodeEntry, isNotice, KIND_AT, type Kind, KINDS } from '@tallystick/evidence';
import type {
  NoticesPortion,
  NoticesRequest,
  RecordNotice,
  UnprovenEntry,
} from '../../streams/removal/proven.ts';
import { awaited, type Resumable } from '../resumable.ts';
import type { LogIdentity } from '../rows/log-identity.ts';
import { soundNotice, type WalkResources } from './entries.ts';
import { trustedOf } from './notes.ts';
import { lotEnd, unprovenEntries } from './proven.ts';
import type { RangeStore } from './range.ts';
import { recordNamedIn } from './records.ts';
import { signedHead } from './signed-head.ts';
import { fault } from './store-fault.ts';

/** Some milliseconds of hashing. */
const LOTS_AT_ONCE = 8;

/** The kinds of notices that decide how long events are kept, with the kind of the record that one which cannot be read may be about. */
const DECIDING: ReadonlyMap<Kind, string> = new Map([
  [KINDS.policyChange, 'Policy'],
  [KINDS.administration, 'Tenant'],
]);

export function* recordNotices<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  { fromIndex, publicKeys }: NoticesRequest,
  resources: WalkResources,
): Resumable<NoticesPortion> {
  const notices: RecordNotice[] = [];
  const altered: UnprovenEntry[] = [];
  const log = yield* awaited(store.log(fromIndex));
  if (log === undefined) return { notices, unproven: altered, nextIndex: fromIndex, isEnd: true };
  const head = yield* signedHead(store, log, trustedOf({ publicKeys }));
  const next = yield* awaited(store.nextBegin(log));
  const signedEnd = log.firstIndex + head.size;
  const end = next ?? signedEnd;
  let from = fromIndex;
  for (let lots = 0; lots < LOTS_AT_ONCE && from < end; lots++) {
    // What a log that ended with a restore has behind its last checkpoint is never proven.
    const bound = from < signedEnd ? signedEnd : end;
    const to = Math.min(lotEnd(log, from), bound, end);
    const entries = yield* entriesOf(store, log, from, to);
    const unproven =
      from < signedEnd ? yield* unprovenEntries(store, resources, { log, head }, from, entries) : [];
    altered.push(...unproven);
    const alteredAt = new Set(unproven.map(({ index }) => index));
    for (const [i, entry] of entries.entries()) {
      const index = from + i;
      if (!DECIDING.has(entry[KIND_AT] as Kind)) continue;
      const notice = yield* recordNotice(store, log, index, alteredAt.has(index), resources);
      if (notice !== undefined) notices.push(notice);
    }
    from = to;
  }
  return { notices, unproven: altered, nextIndex: from, isEnd: from >= end && next === undefined };
}

function* entriesOf<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  log: Log,
  from: number,
  to: number,
): Resumable<Uint8Array[]> {
  const entries = yield* awaited(store.entries(log, from, to));
  if (entries.length === to - from) return entries.map(({ entry }) => entry);
  throw fault('TRUNCATED', `entries are missing from ${from} to ${to - 1} of ${log.origin}`, from);
}

/** Undefined for one that is about no record. */
function* recordNotice<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  log: Log,
  index: number,
  isAltered: boolean,
  resources: WalkResources,
): Resumable<RecordNotice | undefined> {
  const [row] = yield* awaited(store.rows(log, index, index));
  if (row === undefined) throw fault('TRUNCATED', `entry ${index} of ${log.origin} is missing`, index);
  const { kind, receivedAtMs } = decodeEntry(row.entry);
  const unreadable = { index, receivedAtMs, kind: DECIDING.get(kind) ?? '', id: '', commitment: undefined };
  if (isAltered || !isNotice(kind)) return unreadable;
  try {
    const named = recordNamedIn(soundNotice(resources, decodeEntry(row.entry), row));
    return named && { index, receivedAtMs, ...named };
  } catch (error) {
    // Rethrows what says nothing about the data.
    store.faultOf(error);
    return unreadable;
  }
}
