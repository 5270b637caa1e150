// Terms one after another, as they are put into `words`: a space before each. They are written as bytes, because to join
// as many small texts takes several times as long, and most of what an index has to do for an event is this.

import { ASCII_IN_WORDS, TOKEN_BYTES_MAX } from '../../query/tokens.ts';
import { GAP } from './terms.ts';

const BYTES_AT_FIRST = 64 * 1024;
/** A larger room than this is not kept for the next event. */
const BYTES_KEPT_MAX = 1024 * 1024;
const ASCII_END = 0x80;
const SPACE = 0x20;
/** What a UTF-16 unit takes at most. */
const UNIT_BYTES_MAX = 3;

export class TermText {
  #bytes = Buffer.allocUnsafe(BYTES_AT_FIRST);
  #end = 0;
  #isAscii = true;

  /** A term in the form in which it is held, or several with spaces between them. */
  add(terms: string): void {
    this.#reserve(1 + UNIT_BYTES_MAX * terms.length);
    this.#bytes[this.#end++] = SPACE;
    this.#put(terms);
  }

  addGap(): void {
    this.add(GAP);
  }

  /** A term that stands behind a prefix. */
  addBehind(prefix: string, term: string): void {
    this.#reserve(1 + UNIT_BYTES_MAX * (prefix.length + term.length));
    this.#bytes[this.#end++] = SPACE;
    this.#put(prefix);
    this.#put(term);
  }

  /** The words of a text in ASCII, each behind the prefix; gives their number. Undefined, and nothing added, for any other text. */
  addWords(prefix: string, text: string): number | undefined {
    // A word of one character and what ends it take two.
    this.#reserve((1 + prefix.length + 1) * (text.length + 1));
    const bytes = this.#bytes;
    let end = this.#end;
    let words = 0;
    /** In the word that is being written; 0 between words. */
    let length = 0;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= ASCII_END) return undefined;
      const letter = ASCII_IN_WORDS[code]!;
      if (letter === 0) {
        length = 0;
        continue;
      }
      if (length === 0) {
        words++;
        bytes[end++] = SPACE;
        for (let k = 0; k < prefix.length; k++) bytes[end++] = prefix.charCodeAt(k);
      }
      if (length < TOKEN_BYTES_MAX) bytes[end++] = letter;
      length++;
    }
    this.#end = end;
    return words;
  }

  /** All that was added; the next text begins. */
  take(): string {
    const text = this.#end === 0 ? '' : this.#bytes.toString(this.#isAscii ? 'latin1' : 'utf8', 1, this.#end);
    this.clear();
    return text;
  }

  clear(): void {
    this.#end = 0;
    this.#isAscii = true;
    if (this.#bytes.length > BYTES_KEPT_MAX) this.#bytes = Buffer.allocUnsafe(BYTES_AT_FIRST);
  }

  /** There is room for it. */
  #put(text: string): void {
    const bytes = this.#bytes;
    const begin = this.#end;
    for (let i = 0; i < text.length; i++) {
      const code = text.charCodeAt(i);
      if (code >= ASCII_END) {
        this.#isAscii = false;
        this.#end = begin + bytes.write(text, begin, 'utf8');
        return;
      }
      bytes[begin + i] = code;
    }
    this.#end = begin + text.length;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * (this.#end + bytes));
    this.#bytes.copy(larger, 0, 0, this.#end);
    this.#bytes = larger;
  }
}
