// The lines of a bundle out of what a store keeps: every entry of a range, open or with its content withheld, what is
// deleted marked so, the notices behind the range that say why, and the proof. One lot of entries is held at a time.

import { createHash } from 'node:crypto';
import type { DatabaseSync } from 'node:sqlite';
import type { TenantId } from '@tallystick/contract';
import {
  BundleWriter,
  decodeEntry,
  Deletions,
  type EntryLine,
  EvidenceError,
  isNotice,
  KINDS,
  type Notice,
  openTexts,
  proveInclusion,
  proveRange,
  readNotice,
} from '@tallystick/evidence';
import type { TreeReads } from '../storage/sqlite/tree-reads.ts';
import type { LogPlace } from '../storage/sqlite/tree-tables.ts';
import type { StoredCheckpoint, StoredEvidence } from '../streams/tree.ts';

/** A range of one log under one of its checkpoints. */
export interface CoveredRange {
  readonly tenant: TenantId;
  readonly log: LogPlace;
  readonly checkpoint: StoredCheckpoint;
  /** Leaf indexes of the log, the second one outside. */
  readonly from: number;
  readonly to: number;
}

export interface BundleSource extends TreeReads {
  /** Inside a transaction: all reads see one state. */
  readonly db: DatabaseSync;
}

const LOT = 256;
const LOT_OF_ENTRIES = 4096;

export class BundleLines {
  readonly #store: BundleSource;
  readonly #withholdContent: boolean;
  readonly #range: CoveredRange;
  readonly #writer = new BundleWriter(createHash('sha256'));
  readonly #deletions = new Deletions();

  constructor(store: BundleSource, range: CoveredRange, withholdContent: boolean) {
    this.#store = store;
    this.#range = range;
    this.#withholdContent = withholdContent;
  }

  /** Throws EvidenceError where the store does not give a bundle that verifies. */
  *all(): Generator<Uint8Array> {
    const { log, checkpoint, from, to } = this.#range;
    const { origin } = log;
    const previous = from === 0 ? previousCheckpoint(this.#store.db, log) : {};
    const { size } = checkpoint;
    yield this.#writer.header({ origin, size, from, to, filter: null, complete: true, ...previous });
    for (let at = from; at < to; ) {
      const rows = this.#evidence(at, Math.min(to, at + LOT));
      for (const row of rows) yield this.#writer.entry(this.#entryLine(row));
      at += rows.length;
    }
    if (this.#deletions.count > 0) yield* this.#noticesBehind();
    this.#deletions.explain();
    const proof = proveRange(from, to, size, this.#store.trees.hashes(log, size));
    yield this.#writer.trailer(proof, checkpoint.note);
  }

  #evidence(from: number, to: number): StoredEvidence[] {
    const { tenant, log } = this.#range;
    const [first, end] = [log.firstIndex + from, log.firstIndex + to];
    const rows = this.#store.evidence.range(tenant, first, end, to - from);
    if (rows.length === to - from) return rows;
    throw new EvidenceError('TRUNCATED', `there are ${rows.length} of ${to - from} entries from ${from} on`);
  }

  #entryLine({ entry: bytes, roots, content }: StoredEvidence): EntryLine {
    const entry = decodeEntry(bytes);
    if (content === undefined) {
      this.#deletions.deleted(entry, true);
      return { entry: bytes, shown: [{ root: roots[0] }, { root: roots[1] }], deleted: true };
    }
    const [facts, rest] = openTexts(content.texts, content.salts);
    if (isNotice(entry.kind)) {
      // A notice is never withheld: it holds no personal data, and may explain what is gone.
      this.#deletions.notice(readNotice(entry, [facts, rest]));
      return { entry: bytes, shown: [facts, rest] };
    }
    return { entry: bytes, shown: [facts, this.#withholdContent ? { root: roots[1] } : rest] };
  }

  /** Those that explain what is gone here and stand behind the range; a notice never stands before what it explains. */
  *#noticesBehind(): Generator<Uint8Array> {
    const { log, checkpoint, to } = this.#range;
    const { trees } = this.#store;
    const hashes = trees.hashes(log, checkpoint.size);
    for (let at = to; at < checkpoint.size; at += LOT_OF_ENTRIES) {
      const lot = trees.entries(log, at, Math.min(LOT_OF_ENTRIES, checkpoint.size - at));
      for (const { entry: bytes } of lot) {
        const { kind, index } = decodeEntry(bytes);
        if (kind !== KINDS.purge && kind !== KINDS.redaction) continue;
        const line = this.#noticeLine(index);
        if (line === undefined) continue;
        yield this.#writer.notice({ ...line, inclusion: proveInclusion(index, checkpoint.size, hashes) });
      }
    }
  }

  /** Undefined for one that is about other entries. */
  #noticeLine(index: number): EntryLine | undefined {
    const [{ entry, content } = { entry: new Uint8Array() }] = this.#evidence(index, index + 1);
    if (content === undefined) throw new EvidenceError('NOTICE_INVALID', `notice ${index} has no content`);
    const shown = openTexts(content.texts, content.salts);
    const notice = readNotice(decodeEntry(entry), shown);
    if (!concerns(notice, this.#range)) return undefined;
    this.#deletions.notice(notice);
    return { entry, shown };
  }
}

function concerns(notice: Notice, { from, to }: CoveredRange): boolean {
  if (notice.kind === KINDS.purge) return notice.payload.ranges.some(([a, b]) => a < to && from < b);
  return notice.kind === KINDS.redaction && notice.payload.leafIndex >= from && notice.payload.leafIndex < to;
}

function previousCheckpoint(
  db: DatabaseSync,
  { tenant, epoch }: LogPlace,
): { readonly previousCheckpoint?: string } {
  const row = db
    .prepare('SELECT previous_checkpoint FROM epochs WHERE tenant = ? AND epoch = ?')
    .get(tenant, epoch);
  return row === undefined ? {} : { previousCheckpoint: String(row['previous_checkpoint']) };
}
