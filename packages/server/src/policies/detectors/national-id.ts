// Numbers that states give to persons. Where an id has check digits they must be right, and where it has a date that must be
// one; a United States number has neither, so only its usual form with hyphens counts. Some numbers in one piece look too
// much like others: these count only as the whole of a text, or behind their name.

import { isDigitAt, isNumberEnd, isNumberStart, isWordAt } from './borders.ts';
import { hasLuhnDigit, isDay, remainderBy97, weighedSum } from './check-digits.ts';

interface IdForm {
  /** Sticky, and bounded in length. */
  readonly written: RegExp;
  /** `compact` is in capitals, without spaces and signs. */
  readonly isSound: (compact: string) => boolean;
  /** Set for a weak form, which counts as the whole of a text, or behind such a word. */
  readonly strongBehind?: RegExp;
}

/** Characters from the beginning of an id to its first digit: those of a codice fiscale. */
const LETTERS_MAX = 8;

/** By what they begin with. */
const FORMS: Readonly<Record<'digit' | 'letter', readonly IdForm[]>> = {
  digit: [
    // United States, social security number, without areas, groups and serials that are never issued
    { written: /(?!000|666|9)\d{3}([-‐‑–])(?!00)\d{2}\1(?!0000)\d{4}/y, isSound: () => true },
    // Germany, Steuer-Identifikationsnummer
    { written: /[1-9]\d( ?)\d{3}\1\d{3}\1\d{3}/y, isSound: isSteuerId },
    // France, numéro d'inscription au répertoire
    { written: /[1-478] ?\d\d ?\d\d ?(?:\d\d|2[AB]) ?\d{3} ?\d{3} ?\d\d/iy, isSound: isNir },
    // Spain, documento nacional de identidad
    { written: /\d{8}[- ]?[A-Z]/iy, isSound: isSpanish },
    // Netherlands, burgerservicenummer
    { written: /\d{4}\.\d\d\.\d{3}/y, isSound: isBsn },
    { written: /\d{9}/y, isSound: isBsn, strongBehind: /bsn|burgerservicenummer|sofi/i },
    // Sweden, personnummer
    { written: /(?:\d\d)?\d{6}[-+]\d{4}/y, isSound: isPersonnummer },
    {
      written: /(?:18|19|20)\d{10}/y,
      isSound: isPersonnummer,
      strongBehind: /personnummer|personal number/i,
    },
    // Poland, PESEL
    { written: /\d{11}/y, isSound: isPesel },
    // Brazil, cadastro de pessoas físicas
    { written: /\d{3}(\.?)\d{3}\1\d{3}-?\d\d/y, isSound: isCpf },
  ],
  letter: [
    // United Kingdom, national insurance number
    {
      written: /(?!BG|GB|NK|KN|TN|NT|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z]( ?)\d\d\1\d\d\1\d\d\1[A-D]/iy,
      isSound: () => true,
    },
    // Spain, número de identidad de extranjero
    { written: /[XYZ][- ]?\d{7}[- ]?[A-Z]/iy, isSound: isSpanish },
    // Italy, codice fiscale; letters stand in for some digits where two persons would have the same
    {
      written: /[A-Z]{3} ?[A-Z]{3} ?[\dL-NP-V]{2}[A-EHLMPR-T][\dL-NP-V]{2} ?[A-Z][\dL-NP-V]{3}[A-Z]/iy,
      isSound: isCodiceFiscale,
    },
  ],
};

/** `isNumber`: the text is the digits of a JSON number. Weak forms do not count there. */
export function hasNationalId(text: string, isNumber: boolean): boolean {
  let nextDigit = -1;
  for (let at = 0; at < text.length; at++) {
    if (nextDigit < at) nextDigit = digitFrom(text, at);
    if (nextDigit === -1) return false;
    // Most of a text has no digits near, and is passed over.
    at = Math.max(at, nextDigit - LETTERS_MAX);
    if (!isWordAt(text, at)) continue;
    const isDigit = isDigitAt(text, at);
    if (isDigit ? isNumberStart(text, at) : !isWordAt(text, at - 1)) {
      const forms = FORMS[isDigit ? 'digit' : 'letter'];
      if (forms.some((form) => standsAt(text, at, form, isNumber))) return true;
    }
    // An id begins where a word does.
    while (isWordAt(text, at + 1)) at++;
  }
  return false;
}

function digitFrom(text: string, from: number): number {
  const digit = /\d/g;
  digit.lastIndex = from;
  return digit.exec(text)?.index ?? -1;
}

function standsAt(
  text: string,
  at: number,
  { written, isSound, strongBehind }: IdForm,
  isNumber: boolean,
): boolean {
  written.lastIndex = at;
  const [found] = written.exec(text) ?? [];
  if (found === undefined || !isNumberEnd(text, at + found.length)) return false;
  if (strongBehind !== undefined && (isNumber || !(isWhole(text, found) || isNamed(text, at, strongBehind))))
    return false;
  return isSound(found.replaceAll(/[^A-Z\d]/gi, '').toUpperCase());
}

/** Spaces around it are not looked at one by one: there may be many. */
function isWhole(text: string, found: string): boolean {
  return text.length <= found.length + 8 && text.trim() === found;
}

/** Whether the name stands shortly before. */
function isNamed(text: string, at: number, name: RegExp): boolean {
  return name.test(text.slice(Math.max(0, at - 32), at));
}

/** One digit of the first ten stands there twice or three times, and no other more than once; ISO 7064, MOD 11,10. */
function isSteuerId(digits: string): boolean {
  const counts = [...'0123456789'].map((digit) => digits.slice(0, 10).split(digit).length - 1);
  const repeated = counts.filter((count) => count > 1);
  if (repeated.length !== 1 || repeated[0]! > 3) return false;
  let product = 10;
  for (const digit of digits.slice(0, 10)) {
    const sum = (Number(digit) + product) % 10 || 10;
    product = (2 * sum) % 11;
  }
  return (11 - product) % 10 === Number(digits[10]);
}

/** Corsica has the departments 2A and 2B, which count as 19 and 18. */
function isNir(compact: string): boolean {
  const digits = compact.replace('2A', '19').replace('2B', '18');
  if (!/^\d{15}$/.test(digits)) return false;
  const month = Number(digits.slice(3, 5));
  // Months that are not known have numbers of their own.
  const hasMonth = (month >= 1 && month <= 12) || (month >= 20 && month <= 42) || month >= 50;
  return hasMonth && 97 - remainderBy97(digits.slice(0, 13)) === Number(digits.slice(13));
}

function isSpanish(compact: string): boolean {
  const number = Number(compact.slice(0, -1).replace(/^[XYZ]/, (letter) => String('XYZ'.indexOf(letter))));
  return 'TRWAGMYFPDXBNJZSQVHLCKE'[number % 23] === compact.at(-1);
}

function isBsn(digits: string): boolean {
  return Number(digits) > 0 && weighedSum(digits, [9, 8, 7, 6, 5, 4, 3, 2, -1]) % 11 === 0;
}

/** A coordination number, for persons who are not registered, has 60 added to the day. */
function isPersonnummer(digits: string): boolean {
  const short = digits.slice(-10);
  const day = Number(short.slice(4, 6));
  return isDay(Number(short.slice(2, 4)), day > 60 ? day - 60 : day) && hasLuhnDigit(short);
}

/** The century is in the month. */
function isPesel(digits: string): boolean {
  const isDated = isDay(Number(digits.slice(2, 4)) % 20, Number(digits.slice(4, 6)));
  return isDated && weighedSum(digits, [1, 3, 7, 9, 1, 3, 7, 9, 1, 3, 1]) % 10 === 0;
}

function isCpf(digits: string): boolean {
  if (digits === digits[0]!.repeat(11)) return false;
  const checkDigit = (count: number): number => {
    const weights = Array.from({ length: count }, (_, i) => count + 1 - i);
    return ((weighedSum(digits, weights) * 10) % 11) % 10;
  };
  return checkDigit(9) === Number(digits[9]) && checkDigit(10) === Number(digits[10]);
}

/** What a digit or letter counts at an odd place, the first being odd; at an even one it counts its own value. */
const ODD_VALUES = [
  1, 0, 5, 7, 9, 13, 15, 17, 19, 21, 2, 4, 18, 20, 11, 3, 6, 8, 12, 14, 16, 10, 22, 25, 24, 23,
];

function isCodiceFiscale(compact: string): boolean {
  const own = (sign: string): number => {
    const value = Number.parseInt(sign, 36);
    return value > 9 ? value - 10 : value;
  };
  const sum = Array.from(compact.slice(0, 15)).reduce(
    (sum, sign, i) => sum + (i % 2 === 0 ? ODD_VALUES[own(sign)]! : own(sign)),
    0,
  );
  return sum % 26 === own(compact[15]!);
}
