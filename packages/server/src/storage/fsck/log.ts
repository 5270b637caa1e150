// Checks one whole log: its entries (entries.ts) and the tree over them. Tile hashes, checkpoints, streams, deletions
// and anchored heads are compared with the tree as it grows, each at its own size. The rows that a lot of entries may
// need are read before the lot.

import {
  type AcceptedAnchorLoss,
  acceptedAnchorLoss,
  type Checkpoint,
  CompactRange,
  Deletions,
  equalBytes,
  KINDS,
  type Notice,
  parseCheckpoint,
  PurgedSubtrees,
  TILE_HEIGHT,
  TILE_WIDTH,
} from '@tallystick/evidence';
import { awaited, type Resumable } from '../resumable.ts';
import type { LogIdentity } from '../rows/log-identity.ts';
import { agree, type Beginning } from './beginning.ts';
import { EntryWalk, type SoundEntry, type WalkResources } from './entries.ts';
import type { LogRow } from './log-row.ts';
import type { DecidedEntry, DecisionCheck } from './decisions.ts';
import type { HeldCheck } from './held.ts';
import type { NotedDeletions, NotedRedactions } from './deletions.ts';
import { NoteReader, type TrustedKey } from './notes.ts';
import { ReadAhead } from './read-ahead.ts';
import type { NotedRecords, NotedVersion } from './records.ts';
import { isSameHead, type RememberedHead } from './remembered-head.ts';
import { fault } from './store-fault.ts';
import type { CheckpointRow, EpochRow, TreeRows } from './stored-rows.ts';
import type { StreamRows } from './streams.ts';
import { Undeleted } from './undeleted.ts';

export interface LogParts<Tenant> {
  readonly resources: WalkResources;
  readonly tree: TreeRows<Tenant>;
  readonly streams: StreamRows;
  readonly records: NotedRecords;
  readonly deletions: NotedDeletions;
  readonly redactions: NotedRedactions;
  readonly decisions: DecisionCheck<Tenant>;
  readonly held: HeldCheck<Tenant>;
  readonly keys: readonly TrustedKey[];
}

export interface LogFacts<Tenant> {
  readonly place: LogIdentity<Tenant>;
  /** Undefined for the first log of a tenant. */
  readonly beginning: Beginning | undefined;
  /** The epoch that continues after this log, if there is one. */
  readonly next: EpochRow | undefined;
  /** Ascending by size. */
  readonly heads: readonly RememberedHead[];
  /** The anchored size as read after this state; undefined: the anchor is not compared. */
  readonly anchoredSize: number | undefined;
}

export interface LogCounts {
  entries: number;
  values: number;
  /** Entries without content, or without a part of it, that a later notice explains. */
  deleted: number;
  /** Entries without content that no notice explains so far; a log that is cut short by a fault may lack the notice. */
  unexplained: number;
  /** Entries whose content is stored although a signed notice says that it, or a part of it, was deleted. */
  undeleted: number;
  /** The index in this log of the first of them. */
  firstUndeleted: number | undefined;
  /** Events of which it is not known what has decided when they expire: a version of settings or policies is not stored. */
  undecided: number;
  /** The indexes in this log of the notices that explain deletions. */
  explainedBy: readonly number[];
  tiles: number;
  checkpoints: number;
  /** The size of the newest checkpoint. */
  signedSize: number;
  /** Accepted anchor losses in its notices: it is unknown whether the log was put back before them. */
  readonly anchorLosses: AcceptedAnchorLoss[];
}

export class LogCheck<Tenant> {
  readonly #parts: LogParts<Tenant>;
  readonly #facts: LogFacts<Tenant>;
  readonly #walk: EntryWalk;
  readonly #notes: NoteReader;
  readonly #range = new CompactRange();
  readonly #deletions = new Deletions(Infinity);
  readonly #undeleted = new Undeleted();
  readonly #purged = new PurgedSubtrees();
  readonly #checkpoints: ReadAhead<CheckpointRow>;
  /** The hashes of the tiles that the lot completes, by level and index. */
  readonly #tileHashes = new Map<number, ReadonlyMap<number, Uint8Array>>();
  #headsMet = 0;
  /** The size of the next checkpoint or head. */
  #nextStop = 0;
  /** Up to this size, all entries are under a signed or remembered root. */
  #confirmedSize = 0;
  /** Whether the leaf that is being appended has no content to count: its content is gone, or it is a notice. */
  #isBare = false;
  #lastLeaf: Uint8Array | undefined;
  readonly counts: LogCounts;

  constructor(parts: LogParts<Tenant>, facts: LogFacts<Tenant>) {
    const { place } = facts;
    this.#parts = parts;
    this.#facts = facts;
    this.#walk = new EntryWalk(parts.resources, { ...place, nextIndex: 0, previous: place.genesis });
    this.#notes = new NoteReader(place.origin, parts.keys);
    this.#checkpoints = new ReadAhead((after, limit) => parts.tree.checkpoints(place, after?.size, limit));
    const seen = { entries: 0, values: 0, deleted: 0, unexplained: 0, undecided: 0, explainedBy: [] };
    const undeleted = { undeleted: 0, firstUndeleted: undefined };
    this.counts = { ...seen, ...undeleted, tiles: 0, checkpoints: 0, signedSize: 0, anchorLosses: [] };
  }

  /** The recomputed leaf of the last entry; undefined if there is none. */
  get lastLeaf(): Uint8Array | undefined {
    return this.#lastLeaf;
  }

  /** Called before the first entry. */
  *begin(): Resumable<void> {
    this.counts.signedSize = yield* awaited(this.#parts.tree.newestSize(this.#facts.place));
    yield* this.#checkpoints.have(1);
    this.#setStop();
  }

  *take(rows: readonly LogRow[]): Resumable<void> {
    // One row more than needed shows where the next one comes.
    yield* this.#checkpoints.have(rows.length + 1);
    yield* this.#parts.streams.have(rows.length + 1);
    if (this.#parts.resources.checks.has('tiles')) yield* this.#readTileHashes(rows.length);
    const entries: DecidedEntry[] = [];
    this.#walk.take(rows, (sound) => entries.push({ sound, noted: this.#use(sound) }));
    if (this.#parts.resources.checks.has('holds'))
      yield* this.#parts.held.take(entries, this.#facts.place.firstIndex);
    if (this.#parts.resources.checks.has('decisions'))
      this.counts.undecided += yield* this.#parts.decisions.take(rows, entries);
  }

  *#readTileHashes(count: number): Resumable<void> {
    this.#tileHashes.clear();
    const { size } = this.#range;
    const end = Math.min(size + count, this.counts.signedSize);
    for (let level = 1, width = TILE_WIDTH; width <= end; level++, width *= TILE_WIDTH) {
      const [from, to] = [Math.floor(size / width), Math.floor(end / width)];
      if (from >= to) continue;
      const found = this.#parts.tree.tileHashes(this.#facts.place, level, from, to);
      this.#tileHashes.set(level, yield* awaited(found));
    }
  }

  /** Called at the end of the log; throws the faults that are only known then. */
  *end(): Resumable<void> {
    const { tree, resources } = this.#parts;
    const { place, heads, beginning } = this.#facts;
    // The row of an epoch alone explains nothing: an intruder who can put a store back can write one.
    if (beginning !== undefined && this.counts.entries === 0)
      throw fault('NOTICE_INVALID', `${place.origin} has no entry that says why it was begun`);
    const unmet = this.#checkpoints.next;
    if (resources.checks.has('checkpoints') && unmet !== undefined) this.#unmetCheckpoint(unmet);
    if (resources.checks.has('anchor')) {
      yield* this.#requireReached(heads.slice(this.#headsMet));
      this.#requireAnchored();
    }
    this.#requireAnySigned();
    const tileRows = yield* awaited(tree.tileHashCount(place));
    if (resources.checks.has('tiles') && tileRows !== this.counts.tiles)
      throw fault(
        'PROOF_INVALID',
        `there are ${tileRows} hashes of tiles; ${this.counts.tiles} are of full tiles`,
      );
    if (!resources.checks.has('deletions')) return;
    this.#purged.close();
    try {
      this.counts.explainedBy = this.#deletions.explain();
    } finally {
      const { count, unexplained } = this.#deletions;
      Object.assign(this.counts, { deleted: count - unexplained, unexplained });
      this.counts.undeleted = this.#undeleted.count;
      this.counts.firstUndeleted = this.#undeleted.first;
    }
  }

  #use(sound: SoundEntry): NotedVersion | undefined {
    const { index, receivedAtMs, leaf, deleted, notice } = sound;
    this.counts.entries++;
    const isGone = deleted?.what === true;
    if (!isGone) this.counts.values++;
    if (deleted !== undefined) this.#deleted(deleted);
    if (notice === undefined) this.#undeleted.event(index, deleted?.what);
    if (index === 0) this.#beginning(notice, receivedAtMs);
    const noted = notice && this.#notice(notice, receivedAtMs);
    this.#isBare = isGone || notice !== undefined;
    if (!this.#isBare && this.#parts.resources.checks.has('streams')) this.#parts.streams.content(index);
    this.#lastLeaf = leaf;
    this.#range.append(leaf, this.#completed);
    if (this.#range.size === this.#nextStop) this.#stop();
    return noted;
  }

  #deleted({ entry, what }: NonNullable<SoundEntry['deleted']>): void {
    this.counts.unexplained++;
    this.#deletions.deleted(entry, what);
  }

  /** A log after a restore begins with the notice that names the checkpoint in its genesis; other logs do not. */
  #beginning(notice: Notice | undefined, receivedAtMs: number): void {
    const { place, beginning } = this.#facts;
    if (this.#parts.resources.checks.has('streams'))
      this.#parts.streams.begin(place.firstIndex, receivedAtMs);
    const epoch = notice?.kind === KINDS.newEpoch ? notice.payload : undefined;
    const isAsSaid =
      beginning === undefined ? epoch === undefined : epoch !== undefined && agree(epoch, beginning);
    if (!isAsSaid) throw fault('NOTICE_INVALID', `${place.origin} does not begin as its epoch says`, 0);
  }

  /** The version of a record that it tells of. */
  #notice(notice: Notice, receivedAtMs: number): NotedVersion | undefined {
    const { resources, streams } = this.#parts;
    // An unsigned notice explains nothing: an intruder who can delete rows can append a notice too.
    if (notice.index < this.counts.signedSize) {
      this.#deletions.notice(notice);
      this.#undeleted.notice(notice);
    }
    this.#purged.notice(notice);
    const noted = this.#parts.records.notice(notice);
    this.#parts.deletions.notice(notice, this.#facts.place.firstIndex);
    this.#parts.redactions.notice(notice, this.#facts.place.firstIndex);
    const loss = acceptedAnchorLoss(notice);
    if (loss !== undefined) this.counts.anchorLosses.push(loss);
    if (notice.kind !== KINDS.streamSeal) return noted;
    const { firstIndex: logBegin } = this.#facts.place;
    if (resources.checks.has('streams'))
      streams.sealed(notice.payload, { index: notice.index + logBegin, logBegin, receivedAtMs });
    const size = notice.index + 1;
    if (
      resources.checks.has('checkpoints') &&
      size <= this.counts.signedSize &&
      this.#checkpoints.next?.size !== size
    )
      throw fault(
        'TRUNCATED',
        `the stream that ends at index ${notice.index} has no checkpoint`,
        notice.index,
      );
    return noted;
  }

  readonly #completed = (level: number, place: number, hash: Uint8Array): void => {
    if (this.#isBare) this.#purged.completed(level, place, hash);
    if (level === 0 || level % TILE_HEIGHT !== 0 || !this.#parts.resources.checks.has('tiles')) return;
    const last = (place + 1) * 2 ** level - 1;
    if (last >= this.counts.signedSize) return;
    const found = this.#tileHashes.get(level / TILE_HEIGHT)?.get(place);
    const name = `hash ${place} of level ${level / TILE_HEIGHT}, over the tile that ends at index ${last}`;
    if (found === undefined) throw fault('TRUNCATED', `${name}, is missing`, last);
    if (!equalBytes(found, hash)) throw fault('ROOT_MISMATCH', `${name}, is not that of the entries`, last);
    this.counts.tiles++;
  };

  #stop(): void {
    const { size } = this.#range;
    const root = this.#range.root();
    const { resources } = this.#parts;
    const { heads } = this.#facts;
    const checkpoint = this.#checkpoints.next;
    if (checkpoint?.size === size) {
      if (resources.checks.has('checkpoints')) this.#requireSigned(checkpoint, root);
      this.#checkpoints.take();
    }
    for (let head = heads[this.#headsMet]; head?.size === size; head = heads[++this.#headsMet]) {
      // No epoch excuses this: it can explain lost entries, but not different ones.
      if (resources.checks.has('anchor') && !equalBytes(head.root, root))
        throw this.#otherHistory('FORK', size, head.how);
    }
    this.#confirmedSize = size;
    this.#setStop();
  }

  #setStop(): void {
    const head = this.#facts.heads[this.#headsMet]?.size ?? Infinity;
    this.#nextStop = Math.min(head, this.#checkpoints.next?.size ?? Infinity);
  }

  #requireSigned(row: CheckpointRow, root: Uint8Array): void {
    const { size, root: signedRoot } = this.#signed(row);
    if (!equalBytes(signedRoot, root)) throw this.#otherHistory('ROOT_MISMATCH', size, 'signed');
    this.counts.checkpoints++;
  }

  /** A checkpoint of a size that the log does not have. Faults of the checkpoint itself are reported first. */
  #unmetCheckpoint(row: CheckpointRow): void {
    throw this.#rollback(this.#signed(row).size, 'signed');
  }

  /** The contents of the checkpoint, which must be signed and have the stored size. */
  #signed({ size, note }: CheckpointRow): Pick<Checkpoint, 'size' | 'root'> {
    const signed = this.#notes.read(note, size === this.counts.signedSize);
    if (signed.size !== size)
      throw fault(
        'ROOT_MISMATCH',
        `the checkpoint that is stored for size ${size} is of size ${signed.size}`,
      );
    return signed;
  }

  /**
   * Every head that the log does not reach must belong to a restore that continued openly: the next log names it. If
   * logs in between are lost, one of them named the anchored head; a head that was seen is not excused by a lost log.
   */
  *#requireReached(unmet: readonly RememberedHead[]): Resumable<void> {
    for (const head of unmet) {
      if (!head.mustBeReached) continue;
      // The notice must be signed: an intruder who can put a store back can append one.
      if (this.#isNamed(head) && (yield* this.#isNextSigned())) continue;
      throw yield* this.#lost(head);
    }
  }

  *#isNextSigned(): Resumable<boolean> {
    const { next, place } = this.#facts;
    if (next === undefined) return false;
    const { tenant } = place;
    return (yield* awaited(this.#parts.tree.newestSize({ tenant, epoch: next.epoch }))) > 0;
  }

  #isNamed(head: RememberedHead): boolean {
    const { next, place } = this.#facts;
    if (next === undefined) return false;
    if (next.epoch > place.epoch + 1) return head.how === 'anchored';
    return isSameHead(parseCheckpoint(next.previousCheckpoint), head);
  }

  /** A given key must have signed the log; a log without a checkpoint proves nothing about it. */
  #requireAnySigned(): void {
    const { entries, signedSize } = this.counts;
    if (!this.#notes.mustBeGiven || !this.#parts.resources.checks.has('checkpoints')) return;
    if (entries === 0 || signedSize > 0) return;
    throw fault(
      'KEY_UNKNOWN',
      `none of its ${entries} entries is under a checkpoint by a key that was given`,
      0,
    );
  }

  /** The anchored size is never smaller than the stored one; otherwise the anchor was put back or exchanged. */
  #requireAnchored(): void {
    const { anchoredSize } = this.#facts;
    if (anchoredSize === undefined || anchoredSize >= this.counts.signedSize) return;
    throw fault(
      'HISTORY_UNPROVEN',
      `it is signed at size ${this.counts.signedSize}, and the anchor knows it ${anchoredSize === 0 ? 'not' : `only up to ${anchoredSize}`}`,
    );
  }

  /** This is not excused, but an operator who has just recovered learns which entries are missing. */
  *#lost(head: RememberedHead): Resumable<Error> {
    const { place, next } = this.#facts;
    const { size, how } = head;
    const isBegun =
      next !== undefined && (yield* awaited(this.#parts.tree.hasEntryAt(place.tenant, next.firstIndex)));
    if (!isBegun || !this.#isNamed(head)) return this.#rollback(size, how);
    const { entries } = this.counts;
    return fault(
      'HISTORY_UNPROVEN',
      `${place.origin} was ${how} with ${size} entries and has ${entries}; the log that goes on after it says so, and is not signed yet. If \`tallystick recover\` was run just now, start the service once and verify again; if it was not, this is a rollback`,
      entries,
    );
  }

  #rollback(size: number, how: string): Error {
    const { entries } = this.counts;
    return fault(
      'ROLLBACK',
      `${this.#facts.place.origin} was ${how} with ${size} entries and has ${entries}`,
      entries,
    );
  }

  #otherHistory(reason: 'FORK' | 'ROOT_MISMATCH', size: number, how: string): Error {
    const from = this.#confirmedSize;
    return fault(reason, `entries ${from} to ${size - 1} are not all those that were ${how}`, from);
  }
}
