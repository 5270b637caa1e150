// Numbers of payment cards: 13 to 19 digits with the check digit of Luhn, in one piece or in the groups that cards show
// them in, with one kind of space or hyphen between them.

import { isDigitAt, isNumberEnd, isNumberStart } from './borders.ts';
import { hasLuhnDigit } from './check-digits.ts';

const DIGITS_MIN = 13;
const DIGITS_MAX = 19;
const SEPARATOR = /[ \u00a0\u2009\u202f‐‑‒–-]/;
/** Those of the networks: a time in milliseconds begins with 1. Telephone numbers may begin alike, so the groups count too. */
const FIRST_DIGITS = /^(?:[2-6]|8[12])/;
/** Digits in each group: fours and a rest, or as on cards of American Express and Diners Club. */
const GROUPS = /^(?:(?:4,){3,4}[1-4]|4,6,[45])$/;

/** Each begins with four digits or more. */
const DIGITS = /\d{4,}/g;

export function hasCardNumber(text: string): boolean {
  for (const { index } of text.matchAll(DIGITS))
    if (isNumberStart(text, index) && beginsCardNumber(text, index)) return true;
  return false;
}

/** Looks at no more digits than the longest number has, and one. */
function beginsCardNumber(text: string, start: number): boolean {
  const separator = separatorAfter(text, start);
  let digits = '';
  let groups = '';
  let at = start;
  for (;;) {
    const from = at;
    while (isDigitAt(text, at) && digits.length <= DIGITS_MAX) digits += text[at++]!;
    groups += `${groups === '' ? '' : ','}${at - from}`;
    const isWritten = !groups.includes(',') || GROUPS.test(groups);
    if (isWritten && isNumberEnd(text, at) && isCardNumber(digits)) return true;
    if (digits.length > DIGITS_MAX || separator === undefined || text[at] !== separator) return false;
    if (!isDigitAt(text, ++at)) return false;
  }
}

/** The one behind the first group of four, if there is one. */
function separatorAfter(text: string, start: number): string | undefined {
  const sign = text[start + 4];
  return sign !== undefined && SEPARATOR.test(sign) ? sign : undefined;
}

function isCardNumber(digits: string): boolean {
  if (digits.length < DIGITS_MIN || digits.length > DIGITS_MAX || !FIRST_DIGITS.test(digits)) return false;
  const isOfOneDigit = digits === digits[0]!.repeat(digits.length);
  return !isOfOneDigit && hasLuhnDigit(digits);
}
