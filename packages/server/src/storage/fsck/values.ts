// Computes the group roots and content hashes of a lot of entries from their texts and seeds. The texts must be in RFC
// 8785 form and must contain the classification of the column.

import { isAscii, isUtf8 } from 'node:buffer';
import {
  ContentPool,
  equalBytes,
  HASH_BYTES,
  isCanonicalJson,
  isPlainlyCanonical,
} from '@tallystick/evidence';
import { Commitments, SEEDS_BYTES } from '../pool/commitments.ts';
import type { Checks } from './checks.ts';
import { fault } from './store-fault.ts';
import type { LogRow, RowContent } from './log-row.ts';
import { shownUnits } from '../rows/punctured.ts';
import { CLASSIFICATIONS } from '../rows/classification-column.ts';

const decoder = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
/**
 * The form of the classification in a text. It occurs once: group 1 has no other unit with such a key, and inside a
 * value the quotes would be escaped.
 */
const SAID = CLASSIFICATIONS.map((name) => Buffer.from(`"classification":"${name}"`));

/** Positions from here down are those of contents that have lost single units. */
const PUNCTURED_FROM = -2;

export class LotValues {
  readonly #checks: Checks;
  readonly #commitments = new Commitments();
  /** Contents that have lost single units. */
  readonly #punctured = new ContentPool();
  readonly #computed = new Uint8Array(HASH_BYTES);
  #seeds = new Uint8Array(0);

  constructor(checks: Checks) {
    this.#checks = checks;
  }

  begin(rows: number): void {
    if (this.#seeds.length < rows * SEEDS_BYTES) this.#seeds = new Uint8Array(rows * SEEDS_BYTES);
    this.#commitments.begin(this.#seeds);
    this.#punctured.reset();
  }

  /** Adds the content and returns its position, which is negative where single units are deleted; throws EvidenceError for a content that no event can have. */
  add({ classification }: LogRow, content: RowContent): number {
    const { text1, text2, seeds, sealedFault } = content;
    if (sealedFault !== undefined) throw fault('MALFORMED', sealedFault);
    if (content.closed !== undefined) return this.#addPunctured(classification, content);
    if (seeds.length !== SEEDS_BYTES)
      throw fault('MALFORMED', `its seeds are ${seeds.length} bytes, not ${SEEDS_BYTES}`);
    requireCanonical(text1);
    requireCanonical(text2);
    this.#seeds.set(seeds, this.#commitments.size * SEEDS_BYTES);
    const place = this.#commitments.add([text1, text2]);
    if (this.#checks.has('classification')) requireClassification(text1, classification);
    return place;
  }

  #addPunctured(classification: number, content: RowContent): number {
    requireCanonical(content.text1);
    requireCanonical(content.text2);
    const place = this.#punctured.add(shownUnits(content));
    if (this.#checks.has('classification')) requireClassification(content.text1, classification);
    return PUNCTURED_FROM - place;
  }

  /** Hashes all added contents. */
  run(): void {
    this.#commitments.run();
    this.#punctured.run();
  }

  /** Throws unless the content at this position leads to the stored roots and to the content hash in the entry. */
  require(place: number, { root1, root2 }: LogRow, contentHash: Uint8Array): void {
    if (!this.#checks.has('values')) return;
    const computed = this.#computed;
    const punctured = PUNCTURED_FROM - place;
    const copyRoot = (group: 1 | 2) =>
      place > PUNCTURED_FROM
        ? this.#commitments.copyRoot(place, group, computed, 0)
        : this.#punctured.copyGroupRoot(punctured, group, computed, 0);
    if (place > PUNCTURED_FROM) this.#commitments.copyContent(place, computed, 0);
    else this.#punctured.copyContent(punctured, computed, 0);
    if (!equalBytes(computed, contentHash))
      throw fault('LEAF_MISMATCH', 'its content is not what was hashed');
    copyRoot(1);
    if (!equalBytes(computed, root1)) throw fault('LEAF_MISMATCH', 'root1 is not that of its content');
    copyRoot(2);
    if (!equalBytes(computed, root2)) throw fault('LEAF_MISMATCH', 'root2 is not that of its content');
  }
}

/** Most texts are checked as bytes, without conversion to strings. */
function requireCanonical(bytes: Uint8Array): void {
  if (!isUtf8(bytes) || !isPlainlyCanonical(bytes)) canonicalText(bytes);
}

export function canonicalText(bytes: Uint8Array): string {
  const text = textOf(bytes);
  if (!isCanonicalJson(text)) throw fault('VALUE_NOT_CANONICAL', 'its content is not its own RFC 8785 text');
  return text;
}

/** Most texts are ASCII, which has a conversion that is several times faster. */
function textOf(bytes: Uint8Array): string {
  if (isAscii(bytes)) return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString('latin1');
  try {
    return decoder.decode(bytes);
  } catch {
    throw fault('MALFORMED', 'its content is not UTF-8');
  }
}

function requireClassification(text: Uint8Array, column: number): void {
  const said = SAID[column];
  if (said !== undefined && holds(text, said)) return;
  throw fault(
    'LEAF_MISMATCH',
    `its column says that it is ${CLASSIFICATIONS[column] ?? column}, its text says otherwise`,
  );
}

/** For such a short text, a loop is faster than creating and searching a Buffer. */
function holds(text: Uint8Array, wanted: Uint8Array): boolean {
  const first = wanted[0];
  for (let at = 0; at + wanted.length <= text.length; at++)
    if (text[at] === first && isAt(text, at, wanted)) return true;
  return false;
}

function isAt(text: Uint8Array, at: number, wanted: Uint8Array): boolean {
  for (let i = 0; i < wanted.length; i++) if (text[at + i] !== wanted[i]) return false;
  return true;
}
