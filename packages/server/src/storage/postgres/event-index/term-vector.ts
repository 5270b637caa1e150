// The terms of a document as a tsvector is written: each with its place, so that phrases are found. What is too much for a
// tsvector is left out as a whole; such a doc is found by whatever is asked, and looked at itself.

import type { Document } from '../../event-index/document.ts';
import type { TermColumn } from '../../event-index/plan.ts';
import { GAP } from '../../event-index/terms.ts';
import { largeLexeme, lexemeOf, quoted } from './tsquery-expressions.ts';

/** Places behind this one are all held as this one. */
const PLACE_MAX = 16_383;
/** Of a lexeme, less than 2 KB; of all together, less than a megabyte. */
const LEXEME_BYTES_MAX = 2046;
const BYTES_MAX = 1_000_000;
/** What a place takes beside its lexeme. */
const PLACE_BYTES = 4;
const UNIT_BYTES_MAX = 3;

export interface TermVector {
  readonly text: string;
  readonly isLarge: boolean;
}

/** `prefix` is what the terms of the view begin with. */
export function termVectorOf(document: Document, prefix: string): TermVector {
  const vector = new VectorText();
  const isWhole =
    vector.add('facets', document.facets) &&
    vector.add('facts', document.facts) &&
    vector.add(document.contentClass, document.content);
  return isWhole
    ? { text: vector.text, isLarge: false }
    : { text: quoted(largeLexeme(prefix)), isLarge: true };
}

class VectorText {
  text = '';
  #place = 0;
  #bytes = 0;

  /** Terms with a space between; false if there is no room for them. */
  add(column: TermColumn, terms: string): boolean {
    for (const term of terms === '' ? [] : terms.split(' ')) {
      if (++this.#place > PLACE_MAX) return false;
      if (term === GAP) continue;
      const lexeme = lexemeOf(column, term);
      const bytes = bytesOf(lexeme);
      this.#bytes += bytes + PLACE_BYTES;
      if (bytes > LEXEME_BYTES_MAX || this.#bytes > BYTES_MAX) return false;
      this.text += `${quoted(lexeme)}:${this.#place} `;
    }
    return true;
  }
}

/** Exact where it matters. */
function bytesOf(lexeme: string): number {
  const most = UNIT_BYTES_MAX * lexeme.length;
  return most <= LEXEME_BYTES_MAX ? most : Buffer.byteLength(lexeme);
}
