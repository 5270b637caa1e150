// Bodies that are no JSON (400), or JSON that could mean two things (422).

import { type BadRequest, BATCH, GOOD, goodText, SINGLE } from './case.ts';

const bytes = (...parts: (string | number[])[]): Buffer =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part) : Buffer.from(part))));

const NOT_JSON: readonly (readonly [string, string | Buffer])[] = [
  ['an unclosed object', '{'],
  ['an unclosed string', '{"a":"b'],
  ['a word cut short', 'nul'],
  ['a comma before the end of an array', '[1,]'],
  ['a comma before the end of an object', '{"a":1,}'],
  ['single quotes', "{'a':1}"],
  ['a key without quotes', '{a:1}'],
  ['a leading zero', '{"payload":{"a":01}}'],
  ['a point without digits behind it', '{"payload":{"a":1.}}'],
  ['a point without digits before it', '{"payload":{"a":.5}}'],
  ['a plus sign', '{"payload":{"a":+1}}'],
  ['an exponent without digits', '{"payload":{"a":1e}}'],
  ['a lone minus', '{"payload":{"a":-}}'],
  ['NaN', '{"payload":{"a":NaN}}'],
  ['Infinity', '{"payload":{"a":Infinity}}'],
  ['a hexadecimal number', '{"payload":{"a":0x10}}'],
  ['a control character in a string', '{"a":"\u0001"}'],
  ['a line break in a string', '{"a":"x\ny"}'],
  ['an unknown escape', '{"a":"\\x41"}'],
  ['a short unicode escape', '{"a":"\\u12"}'],
  ['a comment', '{"a":1 /* one */}'],
  ['two values', '{} {}'],
  ['something behind the end', '{}x'],
  ['a byte order mark', bytes([0xef, 0xbb, 0xbf], '{}')],
  ['UTF-16', Buffer.from('{}', 'utf16le')],
  ['a byte that UTF-8 never has', bytes('{"a":"', [0xff], '"}')],
  ['an overlong form', bytes('{"a":"', [0xc0, 0x80], '"}')],
  ['a surrogate in UTF-8', bytes('{"a":"', [0xed, 0xa0, 0x80], '"}')],
  ['a character beyond Unicode', bytes('{"a":"', [0xf5, 0x80, 0x80, 0x80], '"}')],
  ['a character cut short', bytes('{"a":"', [0xe2, 0x82], '"}')],
  ['a NUL byte between tokens', bytes('{', [0], '}')],
  ['white space that JSON does not know', '{\u00a0}'],
];

const AMBIGUOUS: readonly (readonly [string, string, string])[] = [
  ['a key twice', '"action":"Delete.Order"', 'action'],
  ['a key twice, one of them escaped', '"acti\\u006fn":"Delete.Order"', 'action'],
  ['a key twice in the payload', '"payload":{"a":{"b":1,"b":1}}', 'payload.a.b'],
  ['an integer beyond 2^53', '"payload":{"n":9007199254740993}', 'payload.n'],
  ['an integer at 2^53', '"payload":{"n":9007199254740992}', 'payload.n'],
  ['a number too large for a double', '"payload":{"n":1e400}', 'payload.n'],
  ['a number too small for a double', '"payload":{"n":1e-400}', 'payload.n'],
  ['a fraction that no double holds', '"payload":{"n":0.1000000000000000055511151231257827}', 'payload.n'],
  ['a lone high surrogate', '"payload":{"t":"\\ud800"}', 'payload.t'],
  ['a lone low surrogate', '"payload":{"t":"\\udc00x"}', 'payload.t'],
  ['a lone surrogate in a key', '"payload":{"\\ud800":1}', ''],
  ['U+0000 in a text', '"context":{"t":"a\\u0000b"}', 'context.t'],
  ['U+0000 in a key', '"context":{"a\\u0000b":1}', ''],
  ['nesting past 32 levels', `"payload":{"a":${'['.repeat(31)}${']'.repeat(31)}}`, ''],
];

const NOT_AN_OBJECT = ['[]', '"text"', '1', 'true', 'null'];

export const JSON_CASES: readonly BadRequest[] = [
  ...NOT_JSON.flatMap(([name, body]): BadRequest[] => [
    { name, path: SINGLE, body, status: 400, code: 'MALFORMED_JSON' },
  ]),
  { name: 'an unclosed batch', path: BATCH, body: '{"events":[', status: 400, code: 'MALFORMED_JSON' },
  ...AMBIGUOUS.map(
    ([name, member, field]): BadRequest => ({
      name,
      path: SINGLE,
      body: goodText(member),
      status: 422,
      code: 'VALIDATION_FAILED',
      ...(field === '' ? {} : { field }),
    }),
  ),
  ...NOT_AN_OBJECT.flatMap((body): BadRequest[] =>
    [SINGLE, BATCH].map((path) => ({
      name: `${body} in place of an object`,
      path,
      body,
      status: 422,
      code: 'VALIDATION_FAILED',
    })),
  ),
  {
    name: 'a key twice around the events',
    path: BATCH,
    body: `{"events":[${JSON.stringify(GOOD)}],"transactional":true,"transactional":true}`,
    status: 422,
    code: 'VALIDATION_FAILED',
    field: 'transactional',
  },
  {
    name: 'a key twice in the only event',
    path: BATCH,
    body: `{"events":[${goodText('"action":"Delete.Order"')}]}`,
    status: 422,
    code: 'BATCH_REJECTED',
  },
];
