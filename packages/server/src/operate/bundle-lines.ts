// The lines of a bundle out of what a store keeps: every entry of a range, open or with its content withheld, what is
// deleted marked so, the notices behind the range that say why, and the proof. One lot of entries is held at a time.

import { createHash } from 'node:crypto';
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
  tagOf,
  toBase64,
} from '@tallystick/evidence';
import { awaited, type Resumable } from '../storage/resumable.ts';
import type { BundleStore } from '../storage/bundle-store.ts';
import type { LogIdentity } from '../storage/rows/log-identity.ts';
import type { OpenContent, StoredCheckpoint, StoredEvidence } from '../streams/tree.ts';

/** A range of one log under one of its checkpoints. */
export interface CoveredRange<Log extends LogIdentity<unknown>> {
  readonly tenant: TenantId;
  readonly log: Log;
  readonly checkpoint: StoredCheckpoint;
  /** Leaf indexes of the log, the second one outside. */
  readonly from: number;
  readonly to: number;
}

const LOT = 256;
const LOT_OF_ENTRIES = 4096;

export class BundleLines<Log extends LogIdentity<unknown>> {
  readonly #store: BundleStore<Log>;
  readonly #withholdContent: boolean;
  readonly #range: CoveredRange<Log>;
  readonly #writer = new BundleWriter(createHash('sha256'));
  readonly #deletions = new Deletions(Infinity);

  /** What `store` reads must be of one state. */
  constructor(store: BundleStore<Log>, range: CoveredRange<Log>, withholdContent: boolean) {
    this.#store = store;
    this.#range = range;
    this.#withholdContent = withholdContent;
  }

  /** Throws EvidenceError where the store does not give a bundle that verifies. */
  *all(): Resumable<void, Uint8Array> {
    const { log, checkpoint, from, to } = this.#range;
    const { origin } = log;
    const named = from === 0 ? yield* awaited(this.#store.previousCheckpoint(log)) : undefined;
    const previous = named === undefined ? {} : { previousCheckpoint: named };
    const { size } = checkpoint;
    yield this.#writer.header({ origin, size, from, to, filter: null, complete: true, ...previous });
    for (let at = from; at < to; ) {
      const rows = yield* this.#evidence(at, Math.min(to, at + LOT));
      for (const row of rows) yield this.#writer.entry(this.#entryLine(row));
      at += rows.length;
    }
    if (this.#deletions.count > 0) yield* this.#noticesBehind();
    this.#deletions.explain();
    const proof = this.#store.made(log, size, (read) => proveRange(from, to, size, read));
    yield this.#writer.trailer(yield* awaited(proof), checkpoint.note);
  }

  *#evidence(from: number, to: number): Resumable<readonly StoredEvidence[]> {
    const { firstIndex } = this.#range.log;
    const rows = yield* awaited(this.#store.evidence(firstIndex + from, firstIndex + to));
    if (rows.length === to - from) return rows;
    throw new EvidenceError('TRUNCATED', `there are ${rows.length} of ${to - from} entries from ${from} on`);
  }

  #entryLine({ entry: bytes, roots, content }: StoredEvidence): EntryLine {
    const { log, checkpoint } = this.#range;
    const entry = decodeEntry(bytes);
    if (content === undefined || 'purgedAtMs' in content) {
      const shown: EntryLine['shown'] = [{ root: roots[0] }, { root: roots[1] }];
      // One that is still there, under a notice that the checkpoint does not cover yet, is withheld until it does.
      if (content?.isDeleted === false && content.noticeIndex >= log.firstIndex + checkpoint.size)
        return { entry: bytes, shown };
      this.#deletions.deleted(entry, true);
      return { entry: bytes, shown, deleted: true };
    }
    const [facts, rest] = openTexts(content.texts, content.salts, content.deleted);
    if (isNotice(entry.kind)) {
      // A notice is never withheld: it holds no personal data, and may explain what is gone.
      this.#deletions.notice(readNotice(entry, [facts, rest]));
      return { entry: bytes, shown: [facts, rest] };
    }
    const shown: EntryLine['shown'] = [facts, this.#withholdContent ? { root: roots[1] } : rest];
    const deleted = this.#deletedTags(content);
    if (deleted.length === 0) return { entry: bytes, shown };
    this.#deletions.deleted(entry, deleted);
    return { entry: bytes, shown, deleted };
  }

  /**
   * Of the closed units those that a notice says are deleted, and the checkpoint covers it; until it does, they are withheld.
   * What is deleted without a notice is in no bundle that verifies.
   */
  #deletedTags({ deleted = [[], []] }: OpenContent): string[] {
    const { log, checkpoint } = this.#range;
    const end = log.firstIndex + checkpoint.size;
    const shown = this.#withholdContent ? deleted[0] : deleted.flat();
    return shown
      .filter(({ noticeIndex = 0 }) => noticeIndex < end)
      .map(({ path }) => toBase64(tagOf(path).bytes));
  }

  /** Those that explain what is gone here and stand behind the range; a notice never stands before what it explains. */
  *#noticesBehind(): Resumable<void, Uint8Array> {
    const { log, checkpoint, to } = this.#range;
    const { size } = checkpoint;
    for (let at = to; at < size; at += LOT_OF_ENTRIES) {
      const lot = this.#store.entries(log, at, Math.min(LOT_OF_ENTRIES, size - at));
      for (const { entry: bytes } of yield* awaited(lot)) {
        const { kind, index } = decodeEntry(bytes);
        if (kind !== KINDS.purge && kind !== KINDS.redaction) continue;
        const line = yield* this.#noticeLine(index);
        if (line === undefined) continue;
        const made = this.#store.made(log, size, (read) => proveInclusion(index, size, read));
        yield this.#writer.notice({ ...line, inclusion: yield* awaited(made) });
      }
    }
  }

  /** Undefined for one that is about other entries. */
  *#noticeLine(index: number): Resumable<EntryLine | undefined> {
    const [{ entry, content } = { entry: new Uint8Array() }] = yield* this.#evidence(index, index + 1);
    if (content === undefined || 'purgedAtMs' in content)
      throw new EvidenceError('NOTICE_INVALID', `notice ${index} has no content`);
    const shown = openTexts(content.texts, content.salts);
    const notice = readNotice(decodeEntry(entry), shown);
    if (!concerns(notice, this.#range)) return undefined;
    this.#deletions.notice(notice);
    return { entry, shown };
  }
}

function concerns(notice: Notice, { from, to }: { readonly from: number; readonly to: number }): boolean {
  if (notice.kind === KINDS.purge) return notice.payload.ranges.some(([a, b]) => a < to && from < b);
  return notice.kind === KINDS.redaction && notice.payload.leafIndex >= from && notice.payload.leafIndex < to;
}
