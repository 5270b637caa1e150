// The terms of documents as tsvectors, in their binary form: the database would take longer to read them as text than to
// index them. Each term has its places, so that phrases are found. What is too much for a tsvector is left out as a whole;
// such a doc is found by whatever is asked, and looked at itself.
//
//   int32 how many lexemes; for each: its bytes in UTF-8, a zero, int16 how many places, and these, int16 each

import type { Document } from '../../event-index/document.ts';
import type { TermColumn } from '../../event-index/plan.ts';
import { GAP, NAME_LETTERS } from '../../event-index/terms.ts';
import { ArrayBytes, TSVECTOR } from '../connection/binary-arrays.ts';
import { columnLetter, largeLexeme } from './tsquery-expressions.ts';

/** Places behind this one are all held as this one. */
const PLACE_MAX = 16_383;
/** Of one lexeme. A document has no word more often. */
const PLACES_MAX = 255;
/** Of a lexeme, less than 2 KB; of all together, less than a megabyte. */
const LEXEME_BYTES_MAX = 2046;
const BYTES_MAX = 1_000_000;
/** What a place takes beside its lexeme. */
const PLACE_BYTES = 4;
const ASCII = /^[ -~]*$/;

const NAMES: ReadonlySet<string> = new Set(NAME_LETTERS.values());

/** By the term, without the letter of its column. */
type Places = Map<string, number[]>;

/** Those of a portion, one behind the other. */
export class TermVectors {
  readonly #array = new ArrayBytes(TSVECTOR);

  /** `prefix` is what the terms of the view begin with. True if the doc is too large for them. */
  add(document: Document, prefix: string): boolean {
    const vector = new Lexemes(prefix);
    const isWhole =
      vector.add('facets', document.facets) &&
      vector.add('facts', document.facts) &&
      vector.add(document.contentClass, document.content);
    const array = this.#array;
    const element = array.begin();
    if (isWhole) vector.write(array);
    else writeLarge(array, prefix);
    array.end(element);
    return !isWhole;
  }

  take(): Uint8Array {
    return this.#array.take();
  }
}

class Lexemes {
  readonly #columns: [TermColumn, Places][] = [];
  readonly #prefix: string;
  #count = 0;
  #place = 0;
  #bytes = 0;

  constructor(prefix: string) {
    this.#prefix = prefix;
  }

  /** Terms with a space between; false if there is no room for them. */
  add(column: TermColumn, terms: string): boolean {
    const isAscii = ASCII.test(terms);
    const places: Places = new Map();
    this.#columns.push([column, places]);
    for (const term of terms === '' ? [] : terms.split(' ')) {
      const place = ++this.#place;
      if (place > PLACE_MAX) return false;
      if (term === GAP) continue;
      // One is the letter of the column.
      const bytes = 1 + (isAscii ? term.length : Buffer.byteLength(term));
      this.#bytes += bytes + PLACE_BYTES;
      if (bytes > LEXEME_BYTES_MAX || this.#bytes > BYTES_MAX) return false;
      const known = places.get(term);
      const isPlaced = isWord(term, this.#prefix);
      if (known === undefined) places.set(term, isPlaced ? [place] : NOWHERE);
      else if (isPlaced && known.length < PLACES_MAX) known.push(place);
    }
    this.#count += places.size;
    return true;
  }

  write(array: ArrayBytes): void {
    array.putInt32(this.#count);
    for (const [column, places] of this.#columns) {
      const letter = columnLetter(column);
      for (const [term, all] of places) {
        array.putText(letter);
        writeRest(array, term, all);
      }
    }
  }
}

const NOWHERE: number[] = [];

/** A word by itself or in a name. Others are asked for as a whole: they stand in no phrase, and need no place. */
function isWord(term: string, prefix: string): boolean {
  const at = prefix.length;
  return term[at] !== '_' || (term[at + 2] === '_' && NAMES.has(term[at + 1]!));
}

function writeLarge(array: ArrayBytes, prefix: string): void {
  array.putInt32(1);
  writeRest(array, largeLexeme(prefix), []);
}

function writeRest(array: ArrayBytes, text: string, places: readonly number[]): void {
  array.putText(text);
  array.putByte(0);
  array.putInt16(places.length);
  for (const place of places) array.putInt16(place);
}
