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
const ASCII = /^[a-z0-9_]*$/;

/** Stands in no tsvector that is written here: between those of several docs. */
export const BETWEEN_VECTORS = '|';

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
    ? { text: vector.take(), isLarge: false }
    : { text: quoted(largeLexeme(prefix)), isLarge: true };
}

class VectorText {
  readonly #parts: string[] = [];
  #place = 0;
  #bytes = 0;

  /** Terms with a space between; false if there is no room for them. */
  add(column: TermColumn, terms: string): boolean {
    for (const term of terms === '' ? [] : terms.split(' ')) {
      if (++this.#place > PLACE_MAX) return false;
      if (term === GAP) continue;
      const lexeme = lexemeOf(column, term);
      const isAscii = ASCII.test(lexeme);
      const bytes = isAscii ? lexeme.length : Buffer.byteLength(lexeme);
      this.#bytes += bytes + PLACE_BYTES;
      if (bytes > LEXEME_BYTES_MAX || this.#bytes > BYTES_MAX) return false;
      // Among other letters there may be one that the database takes for a space.
      this.#parts.push(isAscii ? lexeme : quoted(lexeme), `:${this.#place} `);
    }
    return true;
  }

  take(): string {
    return this.#parts.join('');
  }
}
