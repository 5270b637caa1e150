// Verifies a bundle: with the file, a public key and no trust in who made it. The argument, in order:
//
//   each line shows units that give the content hash inside its entry        (LEAF_MISMATCH)
//   each entry stands at its index and names the leaf before it              (INDEX_MISMATCH, CHAIN_BROKEN)
//   the leaves lead to the root that the log's key has signed                (ROOT_MISMATCH, SIGNATURE_…)
//   that root extends what the holder has seen before                        (ROLLBACK, FORK)
//   whatever is gone was deleted under a later notice of the same log        (GAP_UNEXPLAINED)
//
// Chunks are pushed as they are read, memory stays constant, and the first fault in index order is thrown.

import { type FilterCondition, matchesFilter, parseFilter } from './bundle-filter.ts';
import {
  type BundleHeader,
  type BundleTrailer,
  type EntryLine,
  parseEntryLine,
  parseHeader,
  parseNoticeLine,
  parseTrailer,
} from './bundle-line.ts';
import { BundleReader } from './bundle-reader.ts';
import type { RunningHash } from './bundle-writer.ts';
import { equalBytes, toHex } from '../bytes.ts';
import type { Checkpoint } from '../note/checkpoint.ts';
import { CompactRange } from '../tree/compact-range.ts';
import { ContentPool } from '../event/content-pool.ts';
import { Deletions } from './deletions.ts';
import { decodeEntry, type Entry, epochGenesisHash, genesisHash, isNotice } from '../event/entry.ts';
import { EvidenceError } from '../errors.ts';
import { readNotice } from '../event/notices.ts';
import { compactRangeRoot } from '../tree/range-proof.ts';
import { Sha256Stream } from '../hash/sha256.ts';
import { isWhollyOpen } from '../event/shown-event.ts';
import { leafHash } from '../tree/tree.ts';
import { inclusionRoot } from '../tree/tree-proof.ts';
import { openTrustedCheckpoint, type Trust, verifyExtends } from '../note/trust.ts';

export interface BundleVerdict {
  origin: string;
  /** The range of leaf indexes that the bundle speaks of; `to` is the first one outside. */
  from: number;
  to: number;
  /** True where nothing of the range that matches the filter can have been left out. */
  complete: boolean;
  filter: unknown;
  entries: number;
  /** Of the entries: shown whole, shown in part or not at all by the reader's rights, deleted, not matching. */
  open: number;
  withheld: number;
  deleted: number;
  outsideFilter: number;
  /** Indexes of the notices that explain the deletions. */
  explainedBy: number[];
  checkpoint: { size: number; root: string; cosignedBy: string[] };
  /** Size of the older checkpoint that this one was found to extend. */
  extends?: number;
}

interface PendingEntry {
  line: EntryLine;
  entry: Entry;
}

const POOL_ENTRIES = 256;

export class BundleVerifier {
  readonly #trust: Trust;
  readonly #reader: BundleReader;
  readonly #pool = new ContentPool();
  readonly #pending: PendingEntry[] = [];
  readonly #deletions = new Deletions();
  readonly #outsideNotices: { index: number; leaf: Uint8Array; inclusion: readonly Uint8Array[] }[] = [];
  readonly #counts = { entries: 0, open: 0, withheld: 0, outsideFilter: 0 };
  #header: BundleHeader | undefined;
  #conditions: readonly FilterCondition[] = [];
  #trailer: BundleTrailer | undefined;
  /** All leaves of a complete bundle. */
  #range: CompactRange | undefined;
  /** The root that the log had at the size of the older checkpoint, met on the way. */
  #rootThen: Uint8Array | undefined;
  #last: { index: number; leaf: Uint8Array } | undefined;
  #commonRoot: Uint8Array | undefined;

  constructor(trust: Trust, hash: RunningHash = new Sha256Stream()) {
    this.#trust = trust;
    this.#reader = new BundleReader(hash);
  }

  /** Takes in the next bytes of the file. */
  push(chunk: Uint8Array): void {
    try {
      for (const line of this.#reader.push(chunk)) this.#line(line);
    } catch (error) {
      // Lines that came before the unreadable one may hold the earlier fault.
      this.#flush();
      throw error;
    }
  }

  /** Call after the last chunk: the verdict, or the first fault. */
  async finish(): Promise<BundleVerdict> {
    this.#flush();
    const checksum = this.#reader.end();
    const header = this.#header!;
    const trailer = this.#trailer!;
    if (checksum !== trailer.sha256) {
      throw new EvidenceError('CHECKSUM_MISMATCH', 'the file is not the one that was written');
    }
    this.#verifyCount(header, trailer);
    const { checkpoint, cosignedBy } = await openTrustedCheckpoint(
      trailer.checkpoint,
      header.origin,
      this.#trust,
    );
    this.#verifyRoot(header, trailer, checkpoint);
    this.#verifyOutsideNotices(checkpoint);
    const { since } = this.#trust;
    if (since !== undefined) verifyExtends(since, checkpoint, this.#rootThen);
    const explainedBy = this.#deletions.explain();
    const { origin, from, to, complete, filter } = header;
    const verdict: BundleVerdict = {
      origin,
      from,
      to,
      complete,
      filter,
      explainedBy,
      ...this.#counts,
      deleted: this.#deletions.count,
      checkpoint: { size: checkpoint.size, root: toHex(checkpoint.root), cosignedBy },
    };
    return since === undefined ? verdict : { ...verdict, extends: since.size };
  }

  #line(text: string): void {
    if (this.#header === undefined) this.#begin(parseHeader(text));
    else if (text.startsWith('{"e":')) this.#addEntry(text);
    else if (text.startsWith('{"k":')) this.#addOutsideNotice(parseNoticeLine(text));
    else this.#trailer = parseTrailer(text);
  }

  #begin(header: BundleHeader): void {
    this.#header = header;
    if (!header.complete) return;
    this.#conditions = parseFilter(header.filter);
    this.#range = new CompactRange(header.from);
  }

  #addEntry(text: string): void {
    try {
      const line = parseEntryLine(text);
      this.#pending.push({ line, entry: decodeEntry(line.entry) });
      this.#pool.add(line.shown);
    } catch (error) {
      throw this.#placed(error);
    }
    if (this.#pending.length >= POOL_ENTRIES) this.#flush();
  }

  /** A line that cannot be read does not say its index; in a complete bundle its place does. */
  #placed(error: unknown): unknown {
    const header = this.#header!;
    if (!(error instanceof EvidenceError) || error.index !== undefined || !header.complete) return error;
    const index = header.from + this.#counts.entries + this.#pending.length;
    return new EvidenceError(error.reason, `entry ${index}: ${error.message}`, { index, cause: error });
  }

  #flush(): void {
    const pending = this.#pending.splice(0);
    this.#pool.run();
    for (const [place, { line, entry }] of pending.entries()) {
      const { index } = entry;
      if (!equalBytes(this.#pool.content(place), entry.content)) {
        throw new EvidenceError('LEAF_MISMATCH', `what is shown of entry ${index} is not what was hashed`, {
          index,
        });
      }
      this.#verifyPlace(line, entry);
      this.#takeAccount(line, entry);
    }
    this.#pool.reset();
  }

  /** The entry stands where it says, after the entry that it names. */
  #verifyPlace(line: EntryLine, entry: Entry): void {
    const header = this.#header!;
    const { index } = entry;
    const expected = header.complete ? header.from + this.#counts.entries : index;
    const ascending = this.#last === undefined || index > this.#last.index;
    if (index !== expected || !ascending || index < header.from || index >= header.to) {
      throw new EvidenceError('INDEX_MISMATCH', `entry ${index} stands where ${expected} should`, {
        index: expected,
      });
    }
    const previous = this.#previousLeaf(index);
    if (previous !== undefined && !equalBytes(previous, entry.previous)) {
      throw new EvidenceError('CHAIN_BROKEN', `entry ${index} does not name the leaf before it`, { index });
    }
    const leaf = leafHash(line.entry);
    this.#last = { index, leaf };
    if (header.complete) this.#fold(leaf, line, index);
    else this.#verifyInclusion(leaf, line, index);
  }

  #previousLeaf(index: number): Uint8Array | undefined {
    if (this.#last?.index === index - 1) return this.#last.leaf;
    if (index > 0) return undefined;
    const { origin, previousCheckpoint } = this.#header!;
    return previousCheckpoint === undefined
      ? genesisHash(origin)
      : epochGenesisHash(origin, previousCheckpoint);
  }

  #fold(leaf: Uint8Array, line: EntryLine, index: number): void {
    if (line.inclusion !== undefined) {
      throw new EvidenceError('MALFORMED', `entry ${index} has a proof of its own in a complete bundle`, {
        index,
      });
    }
    const range = this.#range!;
    range.append(leaf);
    if (range.begin === 0 && range.end === this.#trust.since?.size) this.#rootThen = range.root();
  }

  /** Every line's proof must lead to one and the same root, which the checkpoint then signs. */
  #verifyInclusion(leaf: Uint8Array, line: EntryLine, index: number): void {
    if (line.inclusion === undefined) {
      throw new EvidenceError('PROOF_INVALID', `entry ${index} has no inclusion proof`, { index });
    }
    const root = inclusionRoot(leaf, index, this.#header!.size, line.inclusion);
    this.#commonRoot ??= root;
    if (!equalBytes(root, this.#commonRoot)) {
      throw new EvidenceError('ROOT_MISMATCH', `the proof of entry ${index} leads to another root`, {
        index,
      });
    }
  }

  /** Open, withheld, deleted or outside the filter; notices are read. */
  #takeAccount(line: EntryLine, entry: Entry): void {
    this.#counts.entries++;
    if (isNotice(entry.kind)) this.#deletions.notice(readNotice(entry, line.shown));
    if (line.deleted !== undefined) this.#deletions.deleted(entry.index, line.deleted);
    if (isWhollyOpen(line.shown)) this.#counts.open++;
    else if (this.#isOutsideFilter(line, entry)) this.#counts.outsideFilter++;
    else if (line.deleted === undefined) this.#withheld(entry.index);
  }

  #isOutsideFilter(line: EntryLine, entry: Entry): boolean {
    if (this.#conditions.length === 0 || line.deleted === true) return false;
    return !matchesFilter(this.#conditions, line.shown, entry.index);
  }

  #withheld(index: number): void {
    this.#counts.withheld++;
    if (this.#trust.allowWithheld !== false) return;
    throw new EvidenceError('GAP_UNEXPLAINED', `content of entry ${index} is withheld`, { index });
  }

  #addOutsideNotice(line: EntryLine & { inclusion: readonly Uint8Array[] }): void {
    const entry = decodeEntry(line.entry);
    const { index } = entry;
    const pool = new ContentPool();
    pool.add(line.shown);
    pool.run();
    if (!equalBytes(pool.content(0), entry.content)) {
      throw new EvidenceError('LEAF_MISMATCH', `what is shown of notice ${index} is not what was hashed`, {
        index,
      });
    }
    this.#deletions.notice(readNotice(entry, line.shown));
    this.#outsideNotices.push({ index, leaf: leafHash(line.entry), inclusion: line.inclusion });
  }

  #verifyCount(header: BundleHeader, trailer: BundleTrailer): void {
    const { entries } = this.#counts;
    const expected = header.complete ? header.to - header.from : trailer.entries;
    if (entries === trailer.entries && entries === expected) return;
    throw new EvidenceError('TRUNCATED', `the bundle holds ${entries} entries of ${expected}`, {
      index: header.from + entries,
    });
  }

  #verifyRoot(header: BundleHeader, trailer: BundleTrailer, checkpoint: Checkpoint): void {
    if (checkpoint.size !== header.size) {
      throw new EvidenceError(
        'ROOT_MISMATCH',
        `the checkpoint is of size ${checkpoint.size}, not ${header.size}`,
      );
    }
    const root =
      this.#range === undefined
        ? this.#commonRoot
        : compactRangeRoot(this.#range, header.size, trailer.proof);
    if (this.#range === undefined && trailer.proof.length > 0) {
      throw new EvidenceError('PROOF_INVALID', 'the trailer has a proof that proves nothing');
    }
    if (root !== undefined && !equalBytes(root, checkpoint.root)) {
      throw new EvidenceError('ROOT_MISMATCH', 'the entries do not lead to the signed root');
    }
  }

  #verifyOutsideNotices(checkpoint: Checkpoint): void {
    for (const { index, leaf, inclusion } of this.#outsideNotices) {
      if (equalBytes(inclusionRoot(leaf, index, checkpoint.size, inclusion), checkpoint.root)) continue;
      throw new EvidenceError('ROOT_MISMATCH', `notice ${index} is not in the log`, { index });
    }
  }
}

/** Verifies a bundle that is at hand as chunks of bytes. */
export async function verifyBundle(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  trust: Trust,
  hash?: RunningHash,
): Promise<BundleVerdict> {
  const verifier = new BundleVerifier(trust, hash);
  for await (const chunk of chunks) verifier.push(chunk);
  return verifier.finish();
}
