// For tests: generators of JSON texts that are good, bad, and nearly either. Keys come from a small set, so
// that they meet each other in one object, in different spellings.

import * as fc from 'fast-check';
import { utf8 } from '../bytes.ts';

const space = fc.constantFrom('', '', '', ' ', '\n', '\t\r\n ');

const KEYS = [
  'a',
  '\\u0061',
  'b',
  '',
  '__proto__',
  'constructor',
  'é',
  '\\u00e9',
  '\\u00E9',
  'unit price',
  'x.y',
];
const ODD_KEYS = [
  '😀',
  '\\ud83d\\ude00',
  '\\ud83D',
  '\\udE00',
  '\\u0000',
  '0',
  '\\"',
  '\\\\',
  '\\n',
  '\u2028',
];

const key = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...KEYS) },
  { weight: 1, arbitrary: fc.constantFrom(...ODD_KEYS) },
);

const stringPart = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.string({ unit: 'binary', maxLength: 6 }).map((text) => JSON.stringify(text).slice(1, -1)),
  },
  {
    weight: 1,
    arbitrary: fc.constantFrom('\\u0000', '\\ud800', '\\uDFFF', '\\ud83d\\ude00', '\\/', '\\b', '\u007f'),
  },
);
const string = fc.array(stringPart, { maxLength: 3 }).map((parts) => parts.join(''));

const digits = fc.oneof(
  fc.constantFrom('0', '1', '9007199254740991', '9007199254740992', '123456789012345', '1234567890123456'),
  fc.nat().map(String),
  fc.bigInt({ min: 0n, max: 10n ** 22n }).map(String),
);
const fraction = fc.stringMatching(/^(\.[0-9]{1,18}0{0,3})?$/);
const exponent = fc.stringMatching(/^([eE][-+]?0?[0-9]{1,3})?$/);

/** Literals that are sound JSON, exact or not. */
export const numberText = fc.oneof(
  { weight: 3, arbitrary: fc.integer().map(String) },
  { weight: 2, arbitrary: fc.double({ noNaN: true, noDefaultInfinity: true }).map(String) },
  {
    weight: 3,
    arbitrary: fc.tuple(fc.constantFrom('', '-'), digits, fraction, exponent).map((parts) => parts.join('')),
  },
);

/** Sound JSON texts, among them some that an event may not be. */
export const jsonText: fc.Arbitrary<string> = fc.letrec<{ value: string; array: string; object: string }>(
  (tie) => ({
    value: fc.oneof(
      { depthSize: 'small', withCrossShrink: true },
      fc.constantFrom('null', 'true', 'false'),
      numberText,
      string.map((text) => `"${text}"`),
      tie('array'),
      tie('object'),
    ),
    array: fc
      .array(fc.tuple(space, tie('value'), space), { maxLength: 5 })
      .map((elements) => `[${elements.map((parts) => parts.join('')).join(',')}]`),
    object: fc
      .array(fc.tuple(space, key, space, tie('value'), space), { maxLength: 5 })
      .map(
        (members) =>
          `{${members.map(([a, name, b, value, c]) => `${a}"${name}"${b}:${b}${value}${c}`).join(',')}}`,
      ),
  }),
).value;

const WRONG = [
  '"',
  '\\',
  '\\u',
  '\\uD800',
  '{',
  '}',
  '[',
  ']',
  ',',
  ':',
  '0',
  '-',
  '.',
  'e',
  '\0',
  '\ufeff',
  ' ',
  'nul',
];
const wrongBytes = fc.oneof(
  fc.constantFrom(...WRONG).map(utf8),
  fc.uint8Array({ minLength: 1, maxLength: 4 }),
  fc
    .constantFrom('c0af', 'eda080', 'f4908080', 'e282', 'f0808080', 'ff', '80')
    .map((hex) => Buffer.from(hex, 'hex')),
);

/** Bytes of a JSON text with a few places overwritten, inserted or cut. */
export const mutatedBytes: fc.Arbitrary<Uint8Array> = fc
  .tuple(
    jsonText,
    fc.array(fc.tuple(fc.nat(), fc.nat({ max: 3 }), wrongBytes), { minLength: 1, maxLength: 3 }),
    fc.boolean(),
  )
  .map(([text, changes, isCut]) => {
    let bytes = Buffer.from(text);
    for (const [place, removed, inserted] of changes) {
      const at = place % (bytes.length + 1);
      bytes = Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + removed)]);
    }
    return Uint8Array.from(isCut ? bytes.subarray(0, bytes.length - 1) : bytes);
  });
