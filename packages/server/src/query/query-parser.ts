// Reads a query:
//
//   query  = [ or ]                          nothing is everything
//   or     = and { "OR" and }                AND binds tighter: a b OR c is (a b) OR c
//   and    = not { [ "AND" ] not }
//   not    = ( "NOT" | "-" ) not | "(" or ")" | field ":" "(" or ")" | [ field ":" ] value
//   value  = [ ">=" | "<=" | ">" | "<" | "=" ] ( word | '"' text '"' ) [ "*" ] | "*"
//
// Any text either is a query or has a fault at a column; nothing is thrown. Time is linear in the text.

import { LIMITS } from '@tallystick/contract';
import { EVERYTHING, type Field, type Operator, type Query } from './query.ts';
import { QueryFault, QueryScanner } from './query-scanner.ts';
import {
  fieldOf,
  refuseInnerField,
  refuseMissingColon,
  quoteShort,
  termOf,
  type Written,
} from './query-term.ts';

export const QUERY_TERMS_MAX = LIMITS.queryTermsMax;
/** Parentheses and negations inside one another. */
export const QUERY_DEPTH_MAX = LIMITS.queryDepthMax;

export type ParsedQuery =
  | { readonly query: Query; readonly fault?: undefined }
  | { readonly query?: undefined; readonly fault: { readonly position: number; readonly issue: string } };

export function parseQuery(text: string): ParsedQuery {
  try {
    return { query: new QueryParser(text).read() };
  } catch (error) {
    if (!(error instanceof QueryFault)) throw error;
    return { fault: { position: error.position, issue: error.message } };
  }
}

const NOT_OPENED = 'this parenthesis was not opened';
const OPERATORS = ['>=', '<=', '>', '<', '='] as const satisfies readonly Operator[];

class QueryParser {
  readonly #scanner: QueryScanner;
  #termCount = 0;
  #depth = 0;

  constructor(text: string) {
    this.#scanner = new QueryScanner(text);
  }

  read(): Query {
    const scanner = this.#scanner;
    // No event has it, and a body with it is refused before anybody reads its query: so it is in no query, however it came.
    const nul = scanner.text.indexOf('\0');
    if (nul !== -1) throw new QueryFault(nul, 'U+0000 stands in no event');
    scanner.skipSpaces();
    if (scanner.isAtEnd) return EVERYTHING;
    const query = this.#readOr(undefined, undefined);
    if (!scanner.isAtEnd) throw new QueryFault(scanner.at, NOT_OPENED);
    return query;
  }

  /** `field` is set inside of `field:( )`; `opened` is where the parenthesis stands. */
  #readOr(field: Field | undefined, opened: number | undefined): Query {
    const scanner = this.#scanner;
    const branches: Query[] = [];
    let before = opened === undefined ? undefined : { sign: '(', position: opened };
    for (;;) {
      branches.push(this.#readAnd(field, before));
      before = { sign: 'OR', position: scanner.at };
      if (!scanner.takeKeyword('OR')) break;
    }
    return branches.length === 1 ? branches[0]! : { kind: 'Or', of: branches };
  }

  #readAnd(field: Field | undefined, opened: Sign | undefined): Query {
    const scanner = this.#scanner;
    const terms: Query[] = [];
    let before = opened;
    for (;;) {
      scanner.skipSpaces();
      const position = scanner.at;
      if (this.#isAtEndOfAnd() || scanner.seesKeyword('AND')) {
        if (before !== undefined)
          throw new QueryFault(before.position, `there is no term after ${before.sign}`);
        if (terms.length === 0) throw new QueryFault(position, faultBefore(scanner));
        if (!scanner.takeKeyword('AND')) break;
        before = { sign: 'AND', position };
      } else {
        terms.push(this.#readNot(field));
        before = undefined;
      }
    }
    return terms.length === 1 ? terms[0]! : { kind: 'And', of: terms };
  }

  #isAtEndOfAnd(): boolean {
    const scanner = this.#scanner;
    return scanner.isAtEnd || scanner.sees(')') || scanner.seesKeyword('OR');
  }

  #readNot(field: Field | undefined): Query {
    const scanner = this.#scanner;
    const position = scanner.at;
    if (scanner.takeKeyword('NOT')) {
      scanner.skipSpaces();
      if (this.#isAtEndOfAnd() || scanner.seesKeyword('AND')) {
        throw new QueryFault(position, 'there is no term after NOT');
      }
    } else if (scanner.take('-')) {
      if (scanner.isAtBorder) throw new QueryFault(position, 'there is no term right after -');
    } else {
      return scanner.sees('(') ? this.#readGroup(field) : this.#readTerm(field);
    }
    return { kind: 'Not', of: this.#inside(position, () => this.#readNot(field)) };
  }

  #readGroup(field: Field | undefined): Query {
    const scanner = this.#scanner;
    const position = scanner.at;
    scanner.take('(');
    const query = this.#inside(position, () => this.#readOr(field, position));
    if (!scanner.take(')')) throw new QueryFault(position, 'this parenthesis is not closed');
    return query;
  }

  #inside(position: number, read: () => Query): Query {
    if (++this.#depth > QUERY_DEPTH_MAX) {
      throw new QueryFault(position, `parentheses and negations are over ${QUERY_DEPTH_MAX} deep`);
    }
    const query = read();
    this.#depth--;
    return query;
  }

  #readTerm(outer: Field | undefined): Query {
    const scanner = this.#scanner;
    const position = scanner.at;
    const fieldText = outer === undefined ? scanner.takeFieldText() : undefined;
    const field = fieldText === undefined ? outer : fieldOf(position, fieldText);
    if (fieldText !== undefined && scanner.isAtBorder) {
      throw new QueryFault(scanner.at, `there is no value right after ${quoteShort(`${fieldText}:`)}`);
    }
    if (fieldText !== undefined && scanner.sees('(')) return this.#readGroup(field);
    if (++this.#termCount > QUERY_TERMS_MAX) {
      throw new QueryFault(position, `there are more than ${QUERY_TERMS_MAX} terms`);
    }
    return termOf(field, this.#readWritten(field, outer !== undefined));
  }

  #readWritten(field: Field | undefined, isInGroup: boolean): Written {
    const scanner = this.#scanner;
    const start = scanner.at;
    const operator = field && OPERATORS.find((sign) => scanner.take(sign));
    const position = scanner.at;
    if (scanner.sees('"')) {
      const text = scanner.takeQuoted();
      if (text === '') throw new QueryFault(position, 'there is nothing between these quotes');
      return { position, operator, text, prefix: scanner.take('*') };
    }
    const word = scanner.takeWord();
    if (word === '') throw new QueryFault(start, `there is no value right after ${operator}`);
    if (field === undefined) refuseMissingColon(position, word);
    else if (isInGroup) refuseInnerField(position, word);
    const star = word.indexOf('*');
    if (star === -1) return { position, operator, text: word, prefix: false };
    if (star < word.length - 1 || (word === '*' && (field === undefined || operator !== undefined))) {
      throw new QueryFault(position + star, '* is for the end of a word, or alone for any value of a field');
    }
    return { position, operator, text: word.slice(0, -1), prefix: true };
  }
}

/** The operator that still needs a term behind it. */
interface Sign {
  readonly sign: string;
  readonly position: number;
}

function faultBefore(scanner: QueryScanner): string {
  if (scanner.sees(')')) return NOT_OPENED;
  return `there is no term before ${scanner.seesKeyword('OR') ? 'OR' : 'AND'}`;
}
