// Verifies a bundle: with the file, a public key and no trust in who made it. The argument, in order:
//
//   each entry stands at its index and names the leaf before it              (INDEX_MISMATCH, CHAIN_BROKEN)
//   each line shows units that give the content hash inside its entry        (LEAF_MISMATCH)
//   the leaves lead to the root that the log's key has signed                (ROOT_MISMATCH, SIGNATURE_…)
//   that root extends what the holder has seen before                        (FORK, HISTORY_UNPROVEN)
//   what was signed runs forwards in time, and no event stands in it twice   (TIME_REVERSED, EVENT_ID_REPEATED)
//   a purge notice agrees with the leaves that are shown                     (NOTICE_INVALID)
//   all missing content was deleted under a later notice of the same log     (GAP_UNEXPLAINED)
//
// Chunks are pushed as they are read, memory stays constant, and the first fault in index order is thrown.

import { equalBytes, textOf, toHex } from '../bytes.ts';
import { EvidenceError, malformed } from '../errors.ts';
import { contentOf, type ContentsOf, contentsOf } from '../event/content.ts';
import {
  decodeEntry,
  type Entry,
  epochGenesisHash,
  genesisHash,
  isNotice,
  KINDS,
  requireContent,
} from '../event/entry.ts';
import { type RunningHash, Sha256Stream } from '../hash/sha256.ts';
import { type Checkpoint } from '../note/checkpoint.ts';
import { LeafRange } from '../tree/leaf-range.ts';
import { compactRangeRoot } from '../tree/range-proof.ts';
import { foldRight, leafHash, subtreesOf } from '../tree/tree.ts';
import { inclusionRoot } from '../tree/tree-proof.ts';
import { Account, type BundleAccount } from './account.ts';
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
import { PurgedSubtrees } from './purged-subtrees.ts';
import { Succession } from './succession.ts';
import { readNoticeAndKeys } from './notice-keys.ts';
import { openTrustedCheckpoint, seenBefore, type SeenBefore, type Trust, verifyExtends } from './trust.ts';

export interface BundleVerdict extends BundleAccount, SeenBefore {
  origin: string;
  /** The range of leaf indexes that the bundle speaks of; `to` is the first one outside. */
  from: number;
  to: number;
  /** True where nothing of the range that matches the filter can have been left out. */
  complete: boolean;
  filter: unknown;
  checkpoint: { size: number; root: string; cosignedBy: string[] };
}

/** How a host hashes that can do so faster than this package in plain TypeScript, with the same result. */
export interface HostHashing {
  /** For the checksum of the file. */
  checksum?: RunningHash;
  contentsOf?: ContentsOf;
}

/** So many entries are hashed together. */
const LOT_ENTRIES = 256;

export class BundleVerifier {
  readonly #trust: Trust;
  readonly #reader: BundleReader;
  readonly #contentsOf: ContentsOf;
  /** Entries that were read and are not verified yet. */
  #lot: [EntryLine, Entry][] = [];
  #lastOutsideNotice = -1;
  /** Roots that single proofs lead to: the first, and the first that is another. One of them is not the signed one. */
  readonly #provenRoots: { index: number; root: Uint8Array }[] = [];
  #header: BundleHeader | undefined;
  readonly #succession = new Succession();
  readonly #purged = new PurgedSubtrees();
  #account: Account | undefined;
  #trailer: BundleTrailer | undefined;
  /** All leaves of a complete bundle. */
  #range: LeafRange | undefined;
  /** The leaves of a complete bundle up to the size of the older checkpoint. */
  #rangeThen: LeafRange | undefined;
  #last: { index: number; leaf: Uint8Array } | undefined;
  /** The first fault: it stays the verdict of every later call. */
  #fault: unknown;

  constructor(trust: Trust, host: HostHashing = {}) {
    this.#trust = trust;
    this.#reader = new BundleReader(host.checksum ?? new Sha256Stream());
    this.#contentsOf = host.contentsOf ?? contentsOf;
  }

  /** Takes in the next bytes of the file. */
  push(chunk: Uint8Array): void {
    if (this.#fault !== undefined) throw this.#fault;
    try {
      for (const line of this.#reader.push(chunk)) this.#line(line);
    } catch (error) {
      this.#fault = this.#firstFault(onLine(error, this.#reader.lines));
      throw this.#fault;
    }
  }

  /** Call after the last chunk: the verdict, or the first fault. */
  async finish(): Promise<BundleVerdict> {
    if (this.#fault !== undefined) throw this.#fault;
    try {
      return await this.#verdict();
    } catch (error) {
      this.#fault = error;
      throw error;
    }
  }

  /** Lines that came before the one with a fault may hold an earlier one. */
  #firstFault(fault: unknown): unknown {
    try {
      this.#verifyLot();
      return fault;
    } catch (earlier) {
      return earlier;
    }
  }

  async #verdict(): Promise<BundleVerdict> {
    this.#verifyLot();
    const checksum = this.#reader.end();
    const header = this.#header!;
    const trailer = this.#trailer!;
    if (checksum !== trailer.sha256)
      throw new EvidenceError('CHECKSUM_MISMATCH', 'the file differs from the one that was written');
    this.#verifyCount(header, trailer);
    const opened = await openTrustedCheckpoint(trailer.checkpoint, header.origin, this.#trust);
    const { checkpoint, cosignedBy } = opened;
    this.#verifyRoot(header, trailer, checkpoint);
    verifyExtends(this.#trust, checkpoint, this.#rootThen(header, trailer));
    this.#succession.close();
    const { origin, from, to, complete, filter } = header;
    return {
      origin,
      from,
      to,
      complete,
      filter,
      ...this.#account!.close(),
      checkpoint: { size: checkpoint.size, root: toHex(checkpoint.root), cosignedBy },
      ...seenBefore(this.#trust, checkpoint),
    };
  }

  /** Header, entries, notices, trailer: in this order and no other. */
  #line(line: Uint8Array): void {
    const text = textOf(line);
    if (this.#header === undefined) this.#begin(parseHeader(text));
    else if (text.startsWith('{"e":') && this.#lastOutsideNotice < 0) this.#addEntry(text);
    else if (text.startsWith('{"k":')) this.#addOutsideNotice(parseNoticeLine(text));
    else if (text.startsWith('{"entries":')) this.#trailer = parseTrailer(text);
    else throw malformed('it is not what a bundle has there');
  }

  #begin(header: BundleHeader): void {
    this.#header = header;
    this.#account = new Account(header, this.#trust, this.#purged);
    if (!header.complete) return;
    this.#range = new LeafRange(header.from);
    this.#noteRangeThen();
  }

  #addEntry(text: string): void {
    this.#lot.push(this.#readEntry(text));
    if (this.#lot.length >= LOT_ENTRIES) this.#verifyLot();
  }

  #verifyLot(): void {
    const lot = this.#lot;
    this.#lot = [];
    const contents = this.#contentsOf(lot.map(([{ shown }]) => shown));
    for (const [place, [line, entry]] of lot.entries()) {
      this.#verifyPlace(entry);
      requireContent(entry, contents[place]!);
      this.#take(line, entry);
      this.#succession.next(entry);
      this.#account!.entry(line, entry);
    }
  }

  #readEntry(text: string): [EntryLine, Entry] {
    try {
      const line = parseEntryLine(text);
      return [line, decodeEntry(line.entry)];
    } catch (error) {
      // A line that cannot be read does not say its index; in a complete bundle its place does.
      const { complete, from } = this.#header!;
      throw complete ? placed(error, from + this.#account!.entries + this.#lot.length) : error;
    }
  }

  /** The entry stands where it says, after the entry that it names. */
  #verifyPlace({ index, previous }: Entry): void {
    const { complete, from, to } = this.#header!;
    const expected = complete ? from + this.#account!.entries : index;
    if (index !== expected) throw misplaced(expected, `entry ${index} stands in place of ${expected}`);
    if (index < from || index >= to)
      throw misplaced(index, `entry ${index} is outside of ${from} to ${to - 1}`);
    if (this.#last !== undefined && index <= this.#last.index)
      throw misplaced(index, `entry ${index} does not come after entry ${this.#last.index}`);
    const leafBefore = this.#leafBefore(index);
    if (leafBefore !== undefined && !equalBytes(leafBefore, previous))
      throw new EvidenceError('CHAIN_BROKEN', `entry ${index} does not name the leaf before it`, { index });
  }

  #leafBefore(index: number): Uint8Array | undefined {
    if (this.#last?.index === index - 1) return this.#last.leaf;
    if (index > 0) return undefined;
    const { origin, previousCheckpoint } = this.#header!;
    if (previousCheckpoint === undefined) return genesisHash(origin);
    return epochGenesisHash(origin, previousCheckpoint);
  }

  /** The leaf joins the range, or shows by its own proof that it is in the tree. */
  #take(line: EntryLine, { index, kind }: Entry): void {
    const leaf = leafHash(line.entry);
    this.#last = { index, leaf };
    const range = this.#range;
    if ((range === undefined) !== (line.inclusion !== undefined)) {
      const fault = range === undefined ? 'has no proof' : 'has a proof of its own in a complete bundle';
      throw new EvidenceError('MALFORMED', `entry ${index} ${fault}`, { index });
    }
    if (range === undefined) return this.#verifyInclusion(leaf, index, line.inclusion!);
    range.append(leaf, line.deleted === true || isNotice(kind) ? this.#purged.completed : undefined);
    this.#noteRangeThen();
  }

  #noteRangeThen(): void {
    const { begin, end, hashes } = this.#range!;
    if (end === this.#trust.since?.size) this.#rangeThen = new LeafRange(begin, end, hashes);
  }

  /** The first hashes of a range proof are all of the tree before the range: with them goes every size up to its end. */
  #rootThen({ from }: BundleHeader, { proof }: BundleTrailer): Uint8Array | undefined {
    const range = this.#rangeThen;
    if (range === undefined || this.#range!.size === 0) return undefined;
    const before = proof.slice(0, subtreesOf({ begin: 0, end: from }).length);
    return range.size === 0 ? foldRight(before) : compactRangeRoot(range, range.end, before);
  }

  #verifyInclusion(leaf: Uint8Array, index: number, proof: readonly Uint8Array[]): void {
    try {
      const root = inclusionRoot(leaf, index, this.#header!.size, proof);
      const [first, another] = this.#provenRoots;
      if (first === undefined || (another === undefined && !equalBytes(root, first.root)))
        this.#provenRoots.push({ index, root });
    } catch (error) {
      throw placed(error, index);
    }
  }

  /** Outside the range, each once, ascending, and of a kind that can explain a deletion. */
  #addOutsideNotice(line: EntryLine & { inclusion: readonly Uint8Array[] }): void {
    this.#verifyLot();
    const entry = decodeEntry(line.entry);
    const { index, kind } = entry;
    const { from, to } = this.#header!;
    if ((index >= from && index < to) || index <= this.#lastOutsideNotice)
      throw new EvidenceError('MALFORMED', `notice ${index} is inside the range or out of order`, { index });
    this.#lastOutsideNotice = index;
    requireContent(entry, contentOf(line.shown));
    if (index >= to) this.#succession.next(entry);
    const notice = readNoticeAndKeys(entry, line.shown);
    if (kind !== KINDS.purge && kind !== KINDS.redaction)
      throw new EvidenceError('NOTICE_INVALID', `notice ${index} explains no deletion`, { index });
    this.#account!.notice(notice);
    this.#verifyInclusion(leafHash(line.entry), index, line.inclusion);
  }

  #verifyCount(header: BundleHeader, trailer: BundleTrailer): void {
    const { entries } = this.#account!;
    const expected = header.complete ? header.to - header.from : trailer.entries;
    if (entries === trailer.entries && entries === expected) return;
    const message = `the bundle holds ${entries} entries; it should hold ${expected} and says ${trailer.entries}`;
    throw new EvidenceError('TRUNCATED', message, { index: header.from + entries });
  }

  #verifyRoot(header: BundleHeader, trailer: BundleTrailer, { size, root }: Checkpoint): void {
    if (size !== header.size) throw otherRoot(`the checkpoint is of size ${size}, not ${header.size}`);
    const range = this.#range;
    if (range === undefined && trailer.proof.length > 0)
      throw new EvidenceError('PROOF_INVALID', 'the trailer has a proof that proves nothing');
    if (range !== undefined && !equalBytes(compactRangeRoot(range, size, trailer.proof), root))
      throw otherRoot('the entries do not lead to the signed root');
    for (const { index, root: proven } of this.#provenRoots)
      if (!equalBytes(proven, root))
        throw otherRoot(`the proof of entry ${index} does not lead to the signed root`, index);
  }
}

/** Verifies a bundle that is at hand as chunks of bytes. */
export async function verifyBundle(
  chunks: AsyncIterable<Uint8Array> | Iterable<Uint8Array>,
  trust: Trust,
  host?: HostHashing,
): Promise<BundleVerdict> {
  const verifier = new BundleVerifier(trust, host);
  for await (const chunk of chunks) verifier.push(chunk);
  return verifier.finish();
}

function placed(error: unknown, index: number): unknown {
  if (!(error instanceof EvidenceError) || error.index !== undefined) return error;
  return new EvidenceError(error.reason, `entry ${index}: ${error.message}`, { index, cause: error });
}

/** A fault that has no index is at least on a line. */
function onLine(error: unknown, line: number): unknown {
  if (!(error instanceof EvidenceError) || error.index !== undefined || error.line !== undefined)
    return error;
  return new EvidenceError(error.reason, `line ${line}: ${error.message}`, { line, cause: error });
}

const otherRoot = (message: string, index?: number): EvidenceError =>
  new EvidenceError('ROOT_MISMATCH', message, { index });
const misplaced = (index: number, message: string): EvidenceError =>
  new EvidenceError('INDEX_MISMATCH', message, { index });
