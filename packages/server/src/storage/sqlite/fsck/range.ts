// A part of one tenant's log, for whoever asks while the service runs: entries and values of the range are recomputed,
// and lead, with the stored hashes around them, to the root of the newest checkpoint. Content that is gone must be under
// a notice, wherever in the log that stands. Where it is a part of a stream, that must be one by the log.

import type { DatabaseSync } from 'node:sqlite';
import {
  type Checkpoint,
  CompactRange,
  compactRangeRoot,
  decodeEntry,
  Deletions,
  EMPTY_ROOT,
  type Entry,
  equalBytes,
  EvidenceError,
  isNotice,
  KINDS,
  leafHash,
  type Notice,
  parseCheckpoint,
  parseNote,
  proveInclusion,
  proveRange,
  verifyInclusion,
} from '@tallystick/evidence';
import type { RangeVerdict, RangeWish } from '../../../streams/tree.ts';
import { ALL_CHECKS } from './checks.ts';
import { EntryWalk, noticeIn, type SoundEntry, WalkDesk } from './entries.ts';
import { fault, faultOf } from './store-fault.ts';
import { type BoundaryEntry, requireBounds } from './stream-bounds.ts';
import { NoteReader, type TrustedKey } from './notes.ts';
import { type LogRow, LogRows } from './rows.ts';
import { TreeRows } from './tree-rows.ts';
import { type LogPlace, TreeTables } from '../tree-tables.ts';

/**
 * Yields how many events are checked; throws only what is no verdict. Needs no transaction: nothing that it holds the
 * range against ever changes, and what is purged meanwhile was signed before. With `keys` the checkpoint must be signed
 * by one of them; without, whoever asks has to verify its signature: what it says could be anybody's.
 */
export function* checkRange(
  db: DatabaseSync,
  logOrigin: string,
  wish: Omit<RangeWish, 'publicKeys'>,
  keys?: readonly TrustedKey[],
): Generator<number, RangeVerdict> {
  const check = new RangeCheck(db, logOrigin, wish, keys);
  try {
    yield* check.run();
    return check.verdict();
  } catch (error) {
    const { reason, message, index } = faultOf(error);
    return { ...check.verdict(), fault: { reason, message, index: check.sequenceIndex(index) } };
  }
}

type Head = Pick<Checkpoint, 'size' | 'root'>;

class RangeCheck {
  readonly #db: DatabaseSync;
  readonly #wish: Omit<RangeWish, 'publicKeys'>;
  readonly #keys: readonly TrustedKey[] | undefined;
  readonly #rows: LogRows;
  readonly #tables: TreeTables;
  readonly #tree: TreeRows;
  readonly #desk = new WalkDesk(ALL_CHECKS);
  #deletions = new Deletions();
  /** The one that is looked at; a range may reach from one into the next, where the tenant went on after a restore. */
  #log: LogPlace | undefined;
  /** In the tenant's sequence. */
  #firstSealAt: number | undefined;
  #head: Head = { size: 0, root: EMPTY_ROOT };
  #checked = 0;
  #expiredBefore = 0;

  constructor(
    db: DatabaseSync,
    logOrigin: string,
    wish: Omit<RangeWish, 'publicKeys'>,
    keys: readonly TrustedKey[] | undefined,
  ) {
    this.#db = db;
    this.#wish = wish;
    this.#keys = keys;
    this.#rows = new LogRows(db);
    this.#tables = new TreeTables(db, logOrigin);
    this.#tree = new TreeRows(db);
  }

  sequenceIndex(index: number | undefined): number | undefined {
    return index === undefined ? undefined : index + (this.#log?.firstIndex ?? 0);
  }

  verdict(): RangeVerdict {
    return {
      checkedEvents: this.#checked,
      expiredEvents: this.#expiredBefore + this.#deletions.count,
      // Nothing deletes single fields yet.
      redactedEvents: 0,
      treeSize: this.#head.size,
      rootHash: this.#head.root,
    };
  }

  *run(): Generator<number, void> {
    const { tenant, fromIndex, endIndex } = this.#wish;
    if (fromIndex === endIndex) this.#takeHead(tenant, fromIndex);
    for (let from = fromIndex; from < endIndex; ) {
      const log = this.#tables.log(tenant, from);
      if (log === undefined) throw fault('TRUNCATED', `there is no tenant ${tenant}`);
      const next = this.#tree.epochs(log.tenant).find(({ epoch }) => epoch > log.epoch);
      const end = Math.min(endIndex, next?.firstIndex ?? endIndex);
      this.#log = log;
      this.#expiredBefore += this.#deletions.count;
      this.#deletions = new Deletions();
      yield* this.#part(log, from, end);
      from = end;
    }
    this.#requireStream();
  }

  #requireStream(): void {
    const { tenant, streamId, endIndex } = this.#wish;
    if (streamId === undefined || this.#log === undefined) return;
    const walked = { endIndex, firstSealAt: this.#firstSealAt };
    const number = this.#log.tenant;
    // Faults of boundaries are told by the tenant's sequence, not by a log.
    this.#log = undefined;
    requireBounds(this.#db, number, streamId, walked, {
      entryAt: (index) => this.#boundaryAt(this.#tables.log(tenant, index)!, index),
      logBeginOf: (index) => this.#tables.log(tenant, index)!.firstIndex,
    });
  }

  #boundaryAt(log: LogPlace, index: number): BoundaryEntry | undefined {
    const row = this.#rows.lots(log.tenant, index, index).next().value;
    if (row?.[0] === undefined) return undefined;
    const entry = decodeEntry(row[0].entry);
    if (entry.index !== index - log.firstIndex)
      throw fault('INDEX_MISMATCH', `says that it is entry ${entry.index}`, index);
    const notice = this.#signedNotice(log, this.#headOf(log), entry, row[0]);
    const seal = notice?.kind === KINDS.streamSeal ? notice.payload : undefined;
    return { logBegin: log.firstIndex, receivedAtMs: entry.receivedAtMs, seal };
  }

  /** Of an empty range there is the head alone to look at. */
  #takeHead(tenant: string, index: number): void {
    this.#log = this.#tables.log(tenant, index);
    if (this.#log !== undefined) this.#head = this.#headOf(this.#log);
  }

  /** What of the range is in one log. */
  *#part(log: LogPlace, fromIndex: number, endIndex: number): Generator<number, void> {
    this.#head = this.#headOf(log);
    const begin = fromIndex - log.firstIndex;
    const walk = new EntryWalk(this.#desk, {
      firstIndex: log.firstIndex,
      nextIndex: begin,
      previous: this.#leafBefore(log, begin),
    });
    // What comes behind the newest checkpoint hangs on the chain alone.
    const range = new CompactRange(Math.min(begin, this.#head.size));
    for (const rows of this.#rows.lots(log.tenant, fromIndex, endIndex - 1)) {
      walk.take(rows, (sound) => this.#use(sound, range));
      yield this.#checked;
    }
    if (walk.nextIndex < endIndex - log.firstIndex)
      throw fault('TRUNCATED', `entry ${walk.nextIndex} is missing`, walk.nextIndex);
    this.#requireRoot(log, range);
    const judged = Math.min(endIndex, log.firstIndex + this.#head.size);
    if (this.#deletions.count > 0) yield* this.#explain(log, judged);
  }

  #use({ leaf, deleted, notice }: SoundEntry, range: CompactRange): void {
    this.#checked++;
    if (range.end < this.#head.size) range.append(leaf);
    if (deleted !== undefined) this.#deletions.deleted(deleted, true);
    if (notice?.kind === KINDS.streamSeal) this.#firstSealAt ??= this.sequenceIndex(notice.index);
    if (notice !== undefined && notice.index < this.#head.size) this.#deletions.notice(notice);
  }

  #headOf(log: LogPlace): Head {
    const latest = this.#tables.latest(log);
    if (latest === undefined) return { size: 0, root: EMPTY_ROOT };
    const { origin, size, root } = parseCheckpoint(parseNote(latest.note).text);
    if (origin !== log.origin || size !== latest.size)
      throw fault('ORIGIN_MISMATCH', `the checkpoint of size ${latest.size} is of another log or size`);
    if (this.#keys !== undefined) new NoteReader(origin, this.#keys).read(latest.note, true);
    return { size, root };
  }

  #leafBefore(log: LogPlace, index: number): Uint8Array {
    if (index === 0) return log.genesis;
    const [before] = this.#tables.entries(log, index - 1, 1);
    if (before === undefined) throw fault('TRUNCATED', `entry ${index - 1} is missing`, index - 1);
    return leafHash(before.entry);
  }

  #requireRoot(log: LogPlace, range: CompactRange): void {
    const { size, root } = this.#head;
    if (size === 0) return;
    const proof = proveRange(range.begin, range.end, size, this.#tables.hashes(log, size));
    if (equalBytes(compactRangeRoot(range, size, proof), root)) return;
    const message = `entries ${range.begin} to ${range.end - 1} do not lead to the root that was signed at size ${size}`;
    throw fault('ROOT_MISMATCH', message, range.begin);
  }

  /** Looks through the rest of the log for the purges that explain what is gone; more may be signed by now. */
  *#explain(log: LogPlace, judged: number): Generator<number, void> {
    const head = this.#headOf(log);
    const last = log.firstIndex + head.size - 1;
    for (const rows of this.#rows.lots(log.tenant, judged, last)) {
      for (const row of rows) {
        const notice = this.#purgeIn(log, head, row);
        if (notice !== undefined) this.#deletions.notice(notice);
      }
      yield this.#checked;
    }
    this.#deletions.explain();
  }

  /** A notice counts only if it is what was signed. */
  #purgeIn(log: LogPlace, head: Head, row: LogRow): Notice | undefined {
    const entry = decodeEntry(row.entry);
    if (entry.kind !== KINDS.purge || row.content === undefined || entry.index >= head.size) return undefined;
    try {
      return this.#signedNotice(log, head, entry, row);
    } catch (error) {
      if (error instanceof EvidenceError) return undefined;
      throw error;
    }
  }

  /** What an entry says if it is a notice; throws where it is not what was signed, as far as that goes. */
  #signedNotice(log: LogPlace, { size, root }: Head, entry: Entry, row: LogRow): Notice | undefined {
    const { index, kind } = entry;
    if (index < size) {
      const proof = proveInclusion(index, size, this.#tables.hashes(log, size));
      verifyInclusion({ leaf: leafHash(row.entry), index, size, proof, root });
    }
    if (!isNotice(kind)) return undefined;
    if (row.content === undefined) throw fault('NOTICE_INVALID', 'is a notice, and its content is gone');
    this.#requireContent(entry, row);
    return noticeIn(entry, row.content);
  }

  #requireContent({ content }: Entry, row: LogRow): void {
    const { values } = this.#desk;
    values.begin(1);
    const place = values.add(row, row.content!);
    values.run();
    values.require(place, row, content);
  }
}
