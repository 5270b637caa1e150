// International bank account numbers (ISO 13616): as long as those of their country are, with their check digits, in one
// piece or in groups of four.

import { isWordAt } from './borders.ts';
import { remainderBy97 } from './check-digits.ts';

const BEGINNING = /[A-Z]{2}\d{2}/gi;
const SEPARATOR = /[ \u00a0\u2009\u202f-]/;
const SIGN = /[A-Z\d]/i;

/** How many characters a number has, by country; from the registry of SWIFT. */
const LENGTHS: ReadonlyMap<string, number> = new Map(
  Object.entries({
    15: 'NO',
    16: 'BE',
    18: 'DK FI FK FO GL NL SD',
    19: 'MK SI',
    20: 'AT BA EE KZ LT LU MN XK',
    21: 'CH HR LI LV',
    22: 'BG BH CR DE GB GE IE ME RS VA',
    23: 'AE GI IL IQ OM SO TL',
    24: 'AD CZ ES MD PK RO SA SE SK TN VG',
    25: 'LY PT ST',
    26: 'IS TR',
    27: 'BI DJ FR GR IT MC MR SM',
    28: 'AL AZ BY CY DO GT HN HU LB NI PL SV',
    29: 'BR EG PS QA UA',
    30: 'JO KW MU YE',
    31: 'MT SC',
    32: 'LC',
    33: 'RU',
  }).flatMap(([length, countries]) => countries.split(' ').map((country) => [country, Number(length)])),
);

export function hasIban(text: string): boolean {
  for (const { index } of text.matchAll(BEGINNING))
    if (!isWordAt(text, index - 1) && beginsIban(text, index)) return true;
  return false;
}

/** Looks at no more characters than the numbers of its country have, and the spaces between. */
function beginsIban(text: string, start: number): boolean {
  const length = LENGTHS.get(text.slice(start, start + 2).toUpperCase());
  if (length === undefined) return false;
  const separator = SEPARATOR.test(text[start + 4] ?? '') ? text[start + 4] : undefined;
  let at = start;
  let iban = '';
  while (iban.length < length) {
    const isBetween = iban.length > 0 && iban.length % 4 === 0;
    if (separator !== undefined && isBetween && text[at++] !== separator) return false;
    const sign = text[at++] ?? '';
    if (!SIGN.test(sign)) return false;
    iban += sign;
  }
  return !isWordAt(text, at) && remainderBy97(iban.slice(4) + iban.slice(0, 4)) === 1;
}
