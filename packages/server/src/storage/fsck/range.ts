// Verifies a part of one tenant's log while the service runs: entries and values of the range are recomputed, and must
// lead, with the stored hashes around them, to the root of the newest checkpoint. Missing content must be explained by
// a notice anywhere in the log. What the notices of the range delete is searched for if that is asked: so whoever goes through
// all ranges finds all content that was put back. If the range is a part of a stream, the stream must match the log.

import {
  CompactRange,
  decodeEntry,
  Deletions,
  EMPTY_ROOT,
  type Entry,
  EvidenceError,
  isNotice,
  KINDS,
  leafHash,
  type Notice,
  proveInclusion,
  verifyInclusion,
} from '@tallystick/evidence';
import type { RangeVerdict, TenantRange } from '../../streams/tree.ts';
import { type Awaitable, awaited, type Resumable } from '../resumable.ts';
import type { LogIdentity } from '../rows/log-identity.ts';
import type { StoredTrees } from '../tree/stored-trees.ts';
import { ALL_CHECKS } from './checks.ts';
import { EntryWalk, type SoundEntry, soundNotice, WalkResources } from './entries.ts';
import type { LogRow, RowOutline } from './log-row.ts';
import type { TrustedKey } from './notes.ts';
import { leadsToHead, type SignedHead, signedHead } from './signed-head.ts';
import { fault } from './store-fault.ts';
import { deletedIn } from '../rows/punctured.ts';
import { type BoundaryEntry, requireBounds, type StreamsAround } from './stream-bounds.ts';

/** The data that a range is verified with, of the requested tenant only. Indexes are those of the tenant's sequence. */
export interface RangeStore<Log extends LogIdentity<unknown>> extends StoredTrees<Log> {
  /** The first index of the log that follows this one after a restore. */
  nextBegin(log: Log): Awaitable<number | undefined>;
  /** The rows from `first` to `last` (inclusive); the backend may return only the first of them. */
  rows(log: Log, first: number, last: number): Awaitable<readonly LogRow[]>;
  /** Those rows without their texts; the same limit. */
  outlines(log: Log, first: number, last: number): Awaitable<readonly RowOutline[]>;
  /** The entries from `first` to `end` (exclusive), without their contents. */
  entries(log: Log, first: number, end: number): Awaitable<readonly { readonly entry: Uint8Array }[]>;
  streamsAround(streamId: string): Awaitable<StreamsAround>;
  /** The first event from `first` to `end` (exclusive) that has content. */
  firstContent(log: Log, first: number, end: number): Awaitable<number | undefined>;
  /** Converts an error to its fault; rethrows errors that are not about the data. */
  faultOf(error: unknown): EvidenceError;
}

/** Trusted keys are passed separately. */
export type RangeOf = Omit<TenantRange, 'publicKeys'>;

/**
 * Yields the number of checked events; throws only errors that are not a verdict. Needs no transaction: nothing that
 * the range is compared with ever changes, and content that is purged meanwhile was signed before. With `keys`, one of
 * them must have signed the checkpoint; without, the caller must verify the signature, since anybody could have written
 * it.
 */
export function* checkRange<Log extends LogIdentity<unknown>>(
  store: RangeStore<Log>,
  request: RangeOf,
  keys?: readonly TrustedKey[],
): Resumable<RangeVerdict, number> {
  const check = new RangeCheck(store, request, keys);
  try {
    yield* check.run();
    return check.verdict();
  } catch (error) {
    const { reason, message, index } = store.faultOf(error);
    return { ...check.verdict(), fault: { reason, message, index: check.sequenceIndex(index) } };
  }
}

class RangeCheck<Log extends LogIdentity<unknown>> {
  readonly #store: RangeStore<Log>;
  readonly #request: RangeOf;
  readonly #keys: readonly TrustedKey[] | undefined;
  readonly #resources = new WalkResources(ALL_CHECKS);
  #deletions = new Deletions(Infinity);
  /** The current log; a range may continue into the next one, if the tenant continued after a restore. */
  #log: Log | undefined;
  /** In the tenant's sequence. */
  #firstSealAt: number | undefined;
  #head: SignedHead = { size: 0, root: EMPTY_ROOT };
  #checked = 0;
  /** Events without any content, and events without single units of it. */
  #expired = 0;
  #redacted = 0;
  /** Those of the range that must have had their effect. */
  #removals: Notice[] = [];
  #undeleted: number | undefined;

  constructor(store: RangeStore<Log>, request: RangeOf, keys: readonly TrustedKey[] | undefined) {
    this.#store = store;
    this.#request = request;
    this.#keys = keys;
  }

  sequenceIndex(index: number | undefined): number | undefined {
    return index === undefined ? undefined : index + (this.#log?.firstIndex ?? 0);
  }

  verdict(): RangeVerdict {
    return {
      checkedEvents: this.#checked,
      expiredEvents: this.#expired,
      redactedEvents: this.#redacted,
      treeSize: this.#head.size,
      rootHash: this.#head.root,
      ...(this.#undeleted !== undefined && { undeleted: this.#undeleted }),
    };
  }

  *run(): Resumable<void, number> {
    const { tenant, fromIndex, endIndex } = this.#request;
    if (fromIndex === endIndex) yield* this.#takeHead(fromIndex);
    for (let from = fromIndex; from < endIndex; ) {
      const log = yield* awaited(this.#store.log(from));
      if (log === undefined) throw fault('TRUNCATED', `there is no tenant ${tenant}`);
      const next = yield* awaited(this.#store.nextBegin(log));
      const end = Math.min(endIndex, next ?? endIndex);
      this.#log = log;
      this.#deletions = new Deletions(Infinity);
      yield* this.#part(log, from, end);
      from = end;
    }
    yield* this.#requireStream();
  }

  *#requireStream(): Resumable<void> {
    const { streamId, endIndex } = this.#request;
    if (streamId === undefined || this.#log === undefined) return;
    // Faults of boundaries use indexes of the tenant's sequence, not of a log.
    this.#log = undefined;
    const rows = yield* awaited(this.#store.streamsAround(streamId));
    const boundaryAt = this.#boundaryAt.bind(this);
    const logAt = this.#logAt.bind(this);
    yield* requireBounds(
      streamId,
      rows,
      { endIndex, firstSealAt: this.#firstSealAt },
      {
        entryAt: boundaryAt,
        *logBeginOf(index) {
          return (yield* logAt(index)).firstIndex;
        },
      },
    );
  }

  *#logAt(index: number): Resumable<Log> {
    const log = yield* awaited(this.#store.log(index));
    if (log === undefined) throw fault('TRUNCATED', `there is no tenant ${this.#request.tenant}`);
    return log;
  }

  *#boundaryAt(index: number): Resumable<BoundaryEntry | undefined> {
    const log = yield* this.#logAt(index);
    const [row] = yield* awaited(this.#store.rows(log, index, index));
    if (row === undefined) return undefined;
    const entry = decodeEntry(row.entry);
    if (entry.index !== index - log.firstIndex)
      throw fault('INDEX_MISMATCH', `says that it is entry ${entry.index}`, index);
    const notice = yield* this.#signedNotice(log, yield* this.#headOf(log), entry, row);
    const seal = notice?.kind === KINDS.streamSeal ? notice.payload : undefined;
    return { logBegin: log.firstIndex, receivedAtMs: entry.receivedAtMs, seal };
  }

  /** An empty range has only the head to check. */
  *#takeHead(index: number): Resumable<void> {
    this.#log = yield* awaited(this.#store.log(index));
    if (this.#log !== undefined) this.#head = yield* this.#headOf(this.#log);
  }

  /** The part of the range in one log. */
  *#part(log: Log, fromIndex: number, endIndex: number): Resumable<void, number> {
    this.#head = yield* this.#headOf(log);
    const begin = fromIndex - log.firstIndex;
    const walk = new EntryWalk(this.#resources, {
      firstIndex: log.firstIndex,
      nextIndex: begin,
      previous: yield* this.#leafBefore(log, begin),
    });
    // Only the chain covers entries after the newest checkpoint.
    const range = new CompactRange(Math.min(begin, this.#head.size));
    for (let from = fromIndex; from < endIndex; ) {
      const rows = yield* awaited(this.#store.rows(log, from, endIndex - 1));
      if (rows.length === 0) break;
      walk.take(rows, (sound) => this.#use(sound, range));
      yield this.#checked;
      from = rows.at(-1)!.sequenceIndex + 1;
    }
    if (walk.nextIndex < endIndex - log.firstIndex)
      throw fault('TRUNCATED', `entry ${walk.nextIndex} is missing`, walk.nextIndex);
    yield* this.#requireRoot(log, range);
    const judged = Math.min(endIndex, log.firstIndex + this.#head.size);
    if (this.#deletions.count > 0) yield* this.#explain(log, judged);
    for (const notice of this.#removals.splice(0)) {
      this.#undeleted ??= yield* this.#contentIn(log, notice);
      yield this.#checked;
    }
  }

  /** The first event that the notice says has lost content which is stored; in the tenant's sequence. */
  *#contentIn(log: Log, notice: Notice): Resumable<number | undefined> {
    if (notice.kind === KINDS.purge)
      for (const [from, to] of notice.payload.ranges) {
        const [first, end] = [from + log.firstIndex, to + log.firstIndex];
        const found = yield* awaited(this.#store.firstContent(log, first, end));
        if (found !== undefined) return found;
      }
    if (notice.kind !== KINDS.redaction) return undefined;
    const { leafIndex, tags } = notice.payload;
    const at = leafIndex + log.firstIndex;
    const [row] = yield* awaited(this.#store.rows(log, at, at));
    if (row?.content === undefined) return undefined;
    // Whether the row is what was hashed is seen where the range comes by.
    const lost = new Set(deletedIn(row.content.closed).flatMap((group) => group.map(({ tag }) => tag)));
    return tags.every((tag) => lost.has(tag)) ? undefined : at;
  }

  #use({ leaf, deleted, notice, receivedAtMs }: SoundEntry, range: CompactRange): void {
    this.#checked++;
    if (range.end < this.#head.size) range.append(leaf);
    if (deleted !== undefined) this.#deletions.deleted(deleted.entry, deleted.what);
    if (deleted?.what === true) this.#expired += 1;
    else if (deleted !== undefined) this.#redacted += 1;
    if (notice?.kind === KINDS.streamSeal) this.#firstSealAt ??= this.sequenceIndex(notice.index);
    if (notice === undefined || notice.index >= this.#head.size) return;
    this.#deletions.notice(notice);
    const { deletedBeforeMs = -Infinity } = this.#request;
    if (isRemoval(notice.kind) && receivedAtMs < deletedBeforeMs) this.#removals.push(notice);
  }

  #headOf(log: Log): Resumable<SignedHead> {
    return signedHead(this.#store, log, this.#keys);
  }

  *#leafBefore(log: Log, index: number): Resumable<Uint8Array> {
    if (index === 0) return log.genesis;
    const at = log.firstIndex + index;
    const [before] = yield* awaited(this.#store.entries(log, at - 1, at));
    if (before === undefined) throw fault('TRUNCATED', `entry ${index - 1} is missing`, index - 1);
    return leafHash(before.entry);
  }

  *#requireRoot(log: Log, range: CompactRange): Resumable<void> {
    if (yield* leadsToHead(this.#store, log, this.#head, range)) return;
    const { size } = this.#head;
    const message = `entries ${range.begin} to ${range.end - 1} do not lead to the root that was signed at size ${size}`;
    throw fault('ROOT_MISMATCH', message, range.begin);
  }

  /** Searches the rest of the log for notices that explain missing content; more may be signed by now. */
  *#explain(log: Log, judged: number): Resumable<void, number> {
    const head = yield* this.#headOf(log);
    const last = log.firstIndex + head.size - 1;
    for (let from = judged; from <= last; ) {
      const rows = yield* awaited(this.#store.rows(log, from, last));
      if (rows.length === 0) break;
      for (const row of rows) {
        const notice = yield* this.#removalIn(log, head, row);
        if (notice !== undefined) this.#deletions.notice(notice);
      }
      yield this.#checked;
      from = rows.at(-1)!.sequenceIndex + 1;
    }
    this.#deletions.explain();
  }

  /** A notice counts only if it is signed and unchanged. */
  *#removalIn(log: Log, head: SignedHead, row: LogRow): Resumable<Notice | undefined> {
    const entry = decodeEntry(row.entry);
    if (!isRemoval(entry.kind) || row.content === undefined || entry.index >= head.size) return undefined;
    try {
      return yield* this.#signedNotice(log, head, entry, row);
    } catch (error) {
      if (error instanceof EvidenceError) return undefined;
      throw error;
    }
  }

  /** The notice in an entry, if it is one; throws if it differs from the signed one, as far as it is signed. */
  *#signedNotice(
    log: Log,
    { size, root }: SignedHead,
    entry: Entry,
    row: LogRow,
  ): Resumable<Notice | undefined> {
    const { index, kind } = entry;
    if (index < size) {
      const made = this.#store.made(log, size, (read) => proveInclusion(index, size, read));
      const proof = yield* awaited(made);
      verifyInclusion({ leaf: leafHash(row.entry), index, size, proof, root });
    }
    if (!isNotice(kind)) return undefined;
    return soundNotice(this.#resources, entry, row);
  }
}

function isRemoval(kind: number): boolean {
  return kind === KINDS.purge || kind === KINDS.redaction;
}
