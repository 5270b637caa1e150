// A text as the search sees it: its words, one after another. The index and the query are cut by this one function,
// so that they cannot disagree.
//
// A word is a run of letters and digits (\p{L}, \p{N}) of the folded text, cut after 64 bytes of UTF-8. A run in a
// script without spaces between words (fold.ts) becomes the overlapping pairs of its characters, 東京都 being 東京 and
// 京都, or its one character.

import { LIMITS } from '@tallystick/contract';
import { foldPoint, joinHangul } from './fold.ts';

export const TOKEN_BYTES_MAX = LIMITS.searchedWordBytesMax;

/** The token stands in the text from `start` to before `end`, in UTF-16 units. False ends the visit. */
export type VisitToken = (token: string, start: number, end: number) => boolean;

/** False where the visitor ended it. */
export function eachToken(text: string, visit: VisitToken): boolean {
  let start = 0;
  while (start < text.length) {
    if (kindAt(text, start) === SEPARATOR) {
      start++;
      continue;
    }
    let end = start;
    let kinds = 0;
    for (let kind; end < text.length && (kind = kindAt(text, end)) !== SEPARATOR; end++) kinds |= kind;
    if (kinds >= OTHER) {
      if (!eachTokenBetween(text, start, end, visit)) return false;
    } else {
      const word = text.slice(start, Math.min(end, start + TOKEN_BYTES_MAX));
      if (!visit(kinds >= CAPITAL ? word.toLowerCase() : word, start, end)) return false;
    }
    start = end;
  }
  return true;
}

export function tokensOf(text: string): string[] {
  const tokens: string[] = [];
  eachToken(text, (token) => tokens.push(token) > 0);
  return tokens;
}

/** The words of a query's term: they match where they stand side by side, the last one perhaps by its beginning. */
export interface Phrase {
  readonly words: readonly string[];
  readonly prefix: boolean;
}

/** `Delete.*` is `Delete`: what follows a word that has already ended may be anything. */
export function phraseOf(text: string, prefix: boolean): Phrase {
  const words: string[] = [];
  let wordsEnd = 0;
  eachToken(text, (word, _start, end) => {
    wordsEnd = end;
    return words.push(word) > 0;
  });
  return { words, prefix: prefix && wordsEnd === text.length };
}

// One table look-up for each character, since every event goes through here.
const ASCII_END = 0x80;

/** What each ASCII character is in a word: itself, the small letter of a capital, or 0 if it ends the word. */
export const ASCII_IN_WORDS = Uint8Array.from({ length: ASCII_END }, (_, code) => {
  const character = String.fromCharCode(code);
  return /[A-Za-z0-9]/.test(character) ? character.toLowerCase().charCodeAt(0) : 0;
});

// Kinds of characters, in bits.
const SEPARATOR = 0;
const SMALL = 1;
const CAPITAL = 2;
const OTHER = 4;
const ASCII_KINDS = ASCII_IN_WORDS.map((small, code) => {
  if (small === 0) return SEPARATOR;
  return small === code ? SMALL : CAPITAL;
});

function kindAt(text: string, at: number): number {
  const code = text.charCodeAt(at);
  return code < ASCII_END ? ASCII_KINDS[code]! : OTHER;
}

/** A stretch without ASCII separators that is not all ASCII. */
function eachTokenBetween(text: string, from: number, to: number, visit: VisitToken): boolean {
  const open = new OpenToken(visit);
  for (let start = from, end; start < to; start = end) {
    const point = text.codePointAt(start)!;
    end = start + (point > 0xffff ? 2 : 1);
    const folded = foldPoint(point);
    if (folded.length === 0) open.extend(end);
    for (const { character, kind } of folded) {
      if (kind === 'Letter') open.addLetter(character, start, end);
      else if (kind === 'Unspaced') open.addUnspaced(character, start, end);
      else open.close();
    }
  }
  open.close();
  return open.goesOn;
}

interface Placed {
  readonly text: string;
  readonly start: number;
  readonly end: number;
}

/** The word, or the run of unspaced characters, that is being read; never both. */
class OpenToken {
  goesOn = true;
  readonly #visit: VisitToken;
  #word: Placed | undefined;
  #run: Placed[] = [];

  constructor(visit: VisitToken) {
    this.#visit = visit;
  }

  addLetter(letter: string, start: number, end: number): void {
    if (this.#run.length > 0) this.close();
    const word = this.#word;
    this.#word = { text: (word?.text ?? '') + letter, start: word?.start ?? start, end };
  }

  addUnspaced(character: string, start: number, end: number): void {
    if (this.#word !== undefined) this.close();
    const last = this.#run.at(-1);
    const joined = last && joinHangul(last.text, character);
    if (joined === undefined) this.#run.push({ text: character, start, end });
    else this.#run.splice(-1, 1, { text: joined, start: last!.start, end });
  }

  /** A mark belongs to what it stands on. */
  extend(end: number): void {
    const last = this.#run.at(-1);
    if (last !== undefined) this.#run.splice(-1, 1, { ...last, end });
    if (this.#word !== undefined) this.#word = { ...this.#word, end };
  }

  close(): void {
    const [word, run] = [this.#word, this.#run];
    if (word !== undefined) this.#give(cut(word.text), word.start, word.end);
    if (run.length === 1) this.#give(run[0]!.text, run[0]!.start, run[0]!.end);
    for (let i = 1; i < run.length; i++) {
      const [first, second] = [run[i - 1]!, run[i]!];
      this.#give(first.text + second.text, first.start, second.end);
    }
    this.#word = undefined;
    if (run.length > 0) this.#run = [];
  }

  #give(token: string, start: number, end: number): void {
    if (this.goesOn) this.goesOn = this.#visit(token, start, end);
  }
}

const encoder = new TextEncoder();
const encoded = new Uint8Array(TOKEN_BYTES_MAX);

/** At the border of a character. */
function cut(word: string): string {
  return word.length * 3 <= TOKEN_BYTES_MAX ? word : word.slice(0, encoder.encodeInto(word, encoded).read);
}
