// Verifies an export: data, bundle and manifest, with a public key and no trust in who made them. The argument, in order:
//
//   the log's key has signed the manifest                                     (SIGNATURE_INVALID, KEY_UNKNOWN)
//   the bundle verifies by itself, and is the one that the manifest speaks of (as in verify-bundle.ts, CHECKSUM_MISMATCH)
//   each row of the data has a line in the bundle, and each line a row        (ROW_MISMATCH)
//   what a row shows is what its line proves, field by field                  (ROW_MISMATCH)
//   the data is byte for byte the one that the manifest speaks of             (CHECKSUM_MISMATCH)
//   so is the page that came with it, and there is nothing else               (CHECKSUM_MISMATCH, MALFORMED)

import { fromBase64, textOf, toHex } from '../bytes.ts';
import { type EntryLine, parseEntryLine } from '../bundle/bundle-line.ts';
import { BundleReader } from '../bundle/bundle-reader.ts';
import type { Trust } from '../bundle/trust.ts';
import { type BundleVerdict, BundleVerifier, type HostHashing } from '../bundle/verify-bundle.ts';
import { EvidenceError, malformed } from '../errors.ts';
import { decodeEntry } from '../event/entry.ts';
import { type RunningHash, Sha256Stream } from '../hash/sha256.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { compareRow, type ProvenLine } from './compare-row.ts';
import { type ExportRow, rowFault } from './export-row.ts';
import {
  type ExportArchive,
  type Manifest,
  MANIFEST_NAME,
  manifestBytes,
  type ManifestEntry,
  openManifest,
} from './manifest.ts';
import { rowReaderOf } from './row-readers.ts';

export interface ExportVerdict extends BundleVerdict {
  readonly manifest: Manifest;
  readonly rows: number;
  /** Rows of the logs before a restore, and what rows show of a value that is withheld in part: the manifest's signature alone covers them. */
  readonly rowsUnproven: number;
  readonly rowsInPart: number;
}

export interface ExportHashing extends HostHashing {
  /** For the checksums of the entries. */
  readonly running?: () => RunningHash;
}

export async function verifyExport(
  archive: ExportArchive,
  trust: Trust,
  host: ExportHashing = {},
): Promise<ExportVerdict> {
  const manifest = await openManifest(await manifestBytes(archive), trust.verifiers);
  const running = host.running ?? (() => new Sha256Stream());
  const evidence = new Checked(archive.entry(manifest.evidence.name), manifest.evidence, running());
  const data = new Checked(archive.entry(manifest.data.name), manifest.data, running());
  const verifier = new BundleVerifier(trust, host);
  const matching = new Matching(manifest, rowsIn(manifest, data));
  for await (const chunk of evidence.chunks()) {
    verifier.push(chunk);
    await matching.push(chunk);
  }
  // A fault of the bundle comes first: nothing can be compared with a bundle that proves nothing.
  const verdict = await verifier.finish();
  evidence.requireSame();
  requireAgreement(manifest, verdict);
  const { rowsUnproven, rowsInPart, rows } = await matching.finish();
  data.requireSame();
  if (rows !== manifest.counts.exported)
    throw new EvidenceError('TRUNCATED', `the data has ${rows} rows, not ${manifest.counts.exported}`);
  await verifyOthers(archive, manifest, running);
  return { ...verdict, manifest, rows, rowsUnproven, rowsInPart };
}

/** The page proves nothing, so that it may be missing; another one in its place could say anything. */
async function verifyOthers(
  archive: ExportArchive,
  { data, evidence, page }: Manifest,
  running: () => RunningHash,
): Promise<void> {
  const known = [data, evidence, page].map((entry) => entry?.name);
  for (const name of archive.names) {
    if (name === page?.name) {
      const shown = new Checked(archive.entry(name), page, running());
      for await (const _ of shown.chunks());
      shown.requireSame();
    } else if (name !== MANIFEST_NAME && !known.includes(name))
      throw malformed(`there is ${name.slice(0, 80)}, which the manifest does not speak of`);
  }
}

/** The bytes of an entry, with their checksum. */
class Checked {
  readonly #chunks: AsyncIterable<Uint8Array>;
  readonly #expected: ManifestEntry;
  readonly #hash: RunningHash;
  #size = 0;

  constructor(chunks: AsyncIterable<Uint8Array>, expected: ManifestEntry, hash: RunningHash) {
    this.#chunks = chunks;
    this.#expected = expected;
    this.#hash = hash;
  }

  async *chunks(): AsyncGenerator<Uint8Array, void, undefined> {
    for await (const chunk of this.#chunks) {
      this.#hash.update(chunk);
      this.#size += chunk.length;
      yield chunk;
    }
  }

  requireSame(): void {
    const { name, size, sha256 } = this.#expected;
    if (this.#size === size && toHex(this.#hash.digest()) === sha256) return;
    throw new EvidenceError('CHECKSUM_MISMATCH', `${name} is not the one that the manifest speaks of`);
  }
}

async function* rowsIn(manifest: Manifest, data: Checked): AsyncGenerator<ExportRow, void, undefined> {
  const reader = rowReaderOf(manifest);
  const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
  const decode = (chunk?: Uint8Array): string => {
    try {
      return chunk === undefined ? decoder.decode() : decoder.decode(chunk, { stream: true });
    } catch (cause) {
      throw malformed('the data is not UTF-8', cause);
    }
  };
  for await (const chunk of data.chunks()) yield* reader.push(decode(chunk));
  yield* reader.push(decode());
  reader.end();
}

type Rows = AsyncGenerator<ExportRow, void, undefined>;

/** Goes through rows and lines side by side. */
class Matching {
  readonly #manifest: Manifest;
  readonly #rows: Rows;
  readonly #lines = new BundleReader({ update() {}, digest: () => new Uint8Array() });
  /** In another order than the log: by their sequence. */
  #sorted: Map<string, ExportRow> | undefined;
  #count = 0;
  #unproven = 0;
  #inPart = 0;
  /** The first one; the bundle is verified to its end all the same. */
  #fault: unknown;

  constructor(manifest: Manifest, rows: Rows) {
    this.#manifest = manifest;
    this.#rows = rows;
  }

  async push(chunk: Uint8Array): Promise<void> {
    for (const bytes of this.#lines.push(chunk)) {
      if (this.#fault !== undefined) return;
      const text = textOf(bytes);
      if (!text.startsWith('{"e":')) continue;
      const line = parseEntryLine(text);
      try {
        await this.#match({ line, entry: decodeEntry(line.entry) });
      } catch (error) {
        this.#fault = error;
      }
    }
  }

  async finish() {
    if (this.#fault !== undefined) throw this.#fault;
    const left = await this.#next(undefined);
    if (left !== undefined)
      throw rowFault(left.number, `event ${String(left.fields.get('eventId'))} has no line in the bundle`);
    return { rows: this.#count, rowsUnproven: this.#unproven, rowsInPart: this.#inPart };
  }

  async #match(proven: ProvenLine): Promise<void> {
    if (this.#manifest.range.complete && isHidden(proven.line)) return;
    const { index, eventId } = proven.entry;
    const sequence = String(this.#manifest.range.firstIndex + index + 1);
    const row = await this.#next(sequence);
    if (row === undefined || Number(row.fields.get('sequence')) > Number(sequence)) {
      const place = row === undefined ? 'behind the last row' : `before row ${row.number}`;
      throw new EvidenceError(
        'ROW_MISMATCH',
        `event ${eventId}, which the bundle has, has no row; it is missing ${place}`,
        { index },
      );
    }
    if (!compareRow(row, proven, this.#manifest)) this.#inPart++;
  }

  /** The row of this sequence, or the next one that can have a line. */
  async #next(sequence: string | undefined): Promise<ExportRow | undefined> {
    if (isSorted(this.#manifest)) return this.#nextSorted(sequence);
    for (;;) {
      const { value } = await this.#rows.next();
      if (value === undefined) return undefined;
      this.#count++;
      if (!this.#isBeforeRange(value)) return value;
      this.#unproven++;
    }
  }

  /** All rows are kept until their line comes: an export in another order than that of the log takes memory. */
  async #nextSorted(sequence: string | undefined): Promise<ExportRow | undefined> {
    if (this.#sorted === undefined) {
      this.#sorted = new Map();
      for await (const row of this.#rows) {
        this.#count++;
        const own = row.fields.get('sequence') ?? '';
        if (this.#sorted.has(own)) throw rowFault(row.number, `sequence ${own} stands twice`);
        if (this.#isBeforeRange(row)) this.#unproven++;
        else this.#sorted.set(own, row);
      }
    }
    const found = sequence === undefined ? [...this.#sorted.values()][0] : this.#sorted.get(sequence);
    if (sequence !== undefined) this.#sorted.delete(sequence);
    return found;
  }

  /** A row of a log before a restore, or the first one of the log that goes on. */
  #isBeforeRange({ fields }: ExportRow): boolean {
    const { firstIndex, from } = this.#manifest.range;
    return firstIndex > 0 && Number(fields.get('sequence')) <= firstIndex + from;
  }
}

function isSorted({ criteria }: Manifest): boolean {
  const { sort } = criteria;
  return Array.isArray(sort) && sort.length > 0;
}

function isHidden({ shown }: EntryLine): boolean {
  return shown.every((group) => 'root' in group);
}

/** Both are signed, and the one says of the other what is in it. */
function requireAgreement(manifest: Manifest, verdict: BundleVerdict): void {
  const { range, criteria, checkpoint, counts } = manifest;
  const { size, root } = verdict.checkpoint;
  const agree =
    manifest.origin === verdict.origin &&
    range.from === verdict.from &&
    range.to === verdict.to &&
    range.complete === verdict.complete &&
    canonicalJson(verdict.filter) === canonicalJson(range.complete ? null : criteria) &&
    checkpoint.size === size &&
    toHex(fromBase64(checkpoint.root)) === root &&
    counts.proven === verdict.entries;
  if (!agree) throw malformed('the manifest does not say of the bundle what it is');
}
