// Where a number or a word begins and ends in a text: what is part of a longer one, of a decimal fraction, a date or a
// telephone number is no id by itself. Every question looks at two characters at most.

const WORD = /[\p{L}\p{N}\p{M}_]/u;

/** A letter, digit or underscore, of any script. Half of a pair of surrogates counts as one: most of those are letters. */
export function isWordAt(text: string, at: number): boolean {
  const code = text.charCodeAt(at);
  if (code < 128) return isDigit(code) || isLetter(code) || code === 0x5f;
  return code >= 128 && (isHalf(code) || WORD.test(text[at]!));
}

export function isDigitAt(text: string, at: number): boolean {
  return isDigit(text.charCodeAt(at));
}

/** Neither in a word nor behind one, nor a later part of `1.2`, `1-2` or `+49`. */
export function isNumberStart(text: string, at: number): boolean {
  if (isWordAt(text, at - 1)) return false;
  const before = text[at - 1];
  return before !== '+' && !((before === '.' || before === '-') && isDigitAt(text, at - 2));
}

/** `at` is behind the last character of the number. */
export function isNumberEnd(text: string, at: number): boolean {
  if (isWordAt(text, at)) return false;
  return !((text[at] === '.' || text[at] === '-') && isDigitAt(text, at + 1));
}

function isDigit(code: number): boolean {
  return code >= 0x30 && code <= 0x39;
}

function isLetter(code: number): boolean {
  const lower = code | 0x20;
  return lower >= 0x61 && lower <= 0x7a;
}

function isHalf(code: number): boolean {
  return code >= 0xd800 && code <= 0xdfff;
}
