// The text of a query, read from left to right: spaces, signs, words, quotes, and what stands before a colon.

/** Why a text is no query. Positions count UTF-16 units from 0, columns from 1. */
export class QueryFault extends Error {
  readonly position: number;

  constructor(position: number, issue: string) {
    super(`column ${position + 1}: ${issue}`);
    this.position = position;
  }
}

const SPACE = /\s/u;
/** What a word ends at. */
const BORDER = /[\s()"]/u;
/** Only in these may a key stand in quotes. */
const PATH = /(?:context|payload)[.[]/iy;

export class QueryScanner {
  readonly text: string;
  at = 0;

  constructor(text: string) {
    this.text = text;
  }

  get isAtEnd(): boolean {
    return this.at >= this.text.length;
  }

  skipSpaces(): void {
    while (!this.isAtEnd && SPACE.test(this.text[this.at]!)) this.at++;
  }

  sees(sign: string): boolean {
    return this.text.startsWith(sign, this.at);
  }

  take(sign: string): boolean {
    const isThere = this.sees(sign);
    if (isThere) this.at += sign.length;
    return isThere;
  }

  /** Nothing that a term could begin with stands right here. */
  get isAtBorder(): boolean {
    return this.isAtEnd || this.sees(')') || SPACE.test(this.text[this.at]!);
  }

  /** OR, AND, NOT: only as a word of its own, and only in capitals. */
  seesKeyword(keyword: string): boolean {
    const next = this.text[this.at + keyword.length];
    return this.sees(keyword) && (next === undefined || BORDER.test(next));
  }

  takeKeyword(keyword: string): boolean {
    const isThere = this.seesKeyword(keyword);
    if (isThere) this.at += keyword.length;
    return isThere;
  }

  /** All up to a space, a parenthesis or a quote. */
  takeWord(): string {
    const start = this.at;
    while (!this.isAtEnd && !BORDER.test(this.text[this.at]!)) this.at++;
    return this.text.slice(start, this.at);
  }

  /** A text in quotes; `\"` and `\\` are a quote and a backslash, any other backslash is itself. */
  takeQuoted(): string {
    const start = this.at++;
    for (; !this.isAtEnd; this.at++) {
      if (this.sees('"')) return unescape(this.text.slice(start + 1, this.at++));
      if (this.sees('\\"') || this.sees('\\\\')) this.at++;
    }
    throw new QueryFault(start, 'this quote is not closed');
  }

  /** What stands before a colon, which is taken too; undefined where a word without one stands here. */
  takeFieldText(): string | undefined {
    const start = this.at;
    PATH.lastIndex = start;
    const isPath = PATH.test(this.text);
    while (!this.isAtEnd) {
      if (this.sees(':')) return this.text.slice(start, this.at++);
      if (isPath && this.sees('"') && this.text[this.at - 1] === '.') this.takeQuoted();
      else if (BORDER.test(this.text[this.at]!)) break;
      else this.at++;
    }
    this.at = start;
    return undefined;
  }
}

/** The same rule as in a quoted text, for the keys of a path. */
export function unescape(text: string): string {
  return text.replaceAll(/\\(["\\])/g, '$1');
}
