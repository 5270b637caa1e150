import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { textOf, utf8 } from '../bytes.ts';
import { EvidenceError, type Reason } from '../errors.ts';
import { isCanonicalJson } from '../json/canonical-json.ts';
import { parseJson } from '../json/parse-json.ts';
import { VECTOR_EVENT } from '../testing/sample-log.ts';
import { encodeEvent } from './encode-event.ts';
import { splitGroup } from './split-group.ts';
import { runs } from '../testing/size.ts';

const SEED = 41;
const key = fc.oneof(
  fc.string({ unit: 'grapheme', maxLength: 8 }),
  fc.string({ unit: 'binary', maxLength: 4 }).filter((text) => text.isWellFormed()),
  fc.constantFrom(
    'a/b',
    'a~b',
    '"',
    '\\',
    '\n',
    '',
    '\u{10000}',
    '\uffff',
    '__proto__',
    'é'.repeat(128),
    'é'.repeat(129),
  ),
);
const jsonValue = fc.jsonValue({ maxDepth: 3, stringUnit: 'grapheme' });
const content = fc.oneof(fc.dictionary(key, jsonValue, { maxKeys: 8, noNullPrototype: true }), jsonValue);
const event = fc
  .record({ context: content, payload: content }, { requiredKeys: [] })
  .map((both) => ({ ...VECTOR_EVENT, ...both }));

const isRefused = (reason: Reason) => (error: unknown) =>
  error instanceof EvidenceError && error.reason === reason;

describe('splitting the text of a group', () => {
  it('finds exactly the units that encodeEvent wrote', () => {
    fc.assert(
      fc.property(event, (one) => {
        for (const [i, group] of encodeEvent(one).entries()) {
          assert.deepEqual(splitGroup(group.bytes, i === 0 ? 1 : 2), group);
        }
      }),
      { seed: SEED, numRuns: runs(2500) },
    );
  });

  it('opens an object by the rule of encodeEvent: up to 240 keys, each up to 256 bytes', () => {
    const keys = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
    const payloads = [
      {},
      keys(1),
      keys(239),
      keys(240),
      keys(241),
      keys(2000),
      { ['k'.repeat(256)]: 1 },
      { ['k'.repeat(257)]: 1 },
      { ['\u0001'.repeat(256)]: 1 },
      { ['\u0001'.repeat(257)]: 1 },
      { a: 1, ['€'.repeat(85)]: 2 },
      { a: 1, ['€'.repeat(86)]: 2 },
    ];
    const counts = payloads.map((payload) => {
      const [, group] = encodeEvent({ ...VECTOR_EVENT, payload });
      assert.deepEqual(splitGroup(group.bytes, 2), group);
      return group.units.length;
    });
    // One more for the context of the event.
    assert.deepEqual(counts, [2, 2, 240, 241, 2, 2, 2, 2, 2, 2, 3, 2]);
  });

  it('keeps its answer when many other keys have gone through', () => {
    const before = encodeEvent(VECTOR_EVENT)[1];
    for (let i = 0; i < 20_000; i++) splitGroup(utf8(`{"payload":{"other${i}":1}}`), 2);
    assert.deepEqual(splitGroup(before.bytes, 2), before);
  });

  it('is not misled by the keys of the text before', () => {
    const texts = [
      '{"context":{"ab":1},"payload":{"ab":1}}',
      '{"context":{"a":1,"ab":2},"payload":{"a":1}}',
      '{"context":{"abc":1},"payload":{"ab":{"ab":1}}}',
      '{"payload":{"ab":1}}',
      '{"context":{"a\\"":1,"a\\"b":1}}',
      '{"context":{"a\\\\":1,"a\\\\\\"":1}}',
      '{"context":{"ab":1,"payload":2},"payload":3}',
      '{}',
    ];
    for (const before of texts) {
      for (const text of texts) {
        splitGroup(utf8(before), 2);
        const expected = encodeEvent(parseJson(text) as Record<string, unknown>)[1];
        assert.deepEqual(splitGroup(utf8(text), 2), expected, `${text} after ${before}`);
      }
    }
    splitGroup(utf8('{"context":{"a":1,"b":2}}'), 2);
    for (const text of [
      '{"context":{"b":1,"a":2}}',
      '{"context":{"a":1,"a":2}}',
      '{"context":{"a" :1,"b":2}}',
    ]) {
      assert.throws(() => splitGroup(utf8(text), 2), isRefused('MALFORMED'), text);
    }
  });

  it('refuses a text that is no object without white space, with keys in order', () => {
    const texts = [
      '',
      '{',
      'null',
      '[]',
      '"payload"',
      '{}{}',
      '{} ',
      ' {}',
      '{"payload"}',
      '{"payload":}',
      '{"payload": 1}',
      '{"payload":1,}',
      '{"payload":1 }',
      '{"payload":1',
      '{"payload":"x}',
      '{"payload":"x\\"}',
      '{"payload":"x\n"}',
      '{"payload":[1}',
      '{"payload":{"a":[1}]}',
      '{"payload":{"a":1]}',
      '{"payload":{"a":1,}}',
      '{"payload":{"a":1}',
      '{"payload":{"a" :1}}',
      '{"payload":{"b":1,"a":2}}',
      '{"payload":{"a":1,"a":2}}',
      '{"payload":{"":1,"":2}}',
      '{"payload":1,"context":1}',
      '{"payload":1,"payload":1}',
      `{"payload":${'['.repeat(65)}${']'.repeat(65)}}`,
    ];
    for (const text of texts) {
      assert.throws(() => splitGroup(utf8(text), 2), isRefused('MALFORMED'), text);
    }
    const notUtf8 = utf8('{"payload":{"aa":1}}');
    notUtf8[13] = 0xff;
    assert.throws(() => splitGroup(notUtf8, 2), isRefused('MALFORMED'));
  });

  it('refuses a value that is not JSON, however deep it stands', () => {
    const values = [
      'zzz',
      'nul',
      '01',
      '1.',
      '-',
      '+1',
      '1e',
      '"\\q"',
      '"\\u12g4"',
      '[,]',
      '[1:2]',
      '["a""b"]',
    ];
    for (const value of [...values, '[1 ]', '{1:2}', '{"a":1:2}', '{"a"}', '{,}', '[[]']) {
      for (const text of [value, `{"a":${value}}`, `[{"a":[0,${value}]}]`]) {
        assert.throws(() => splitGroup(utf8(`{"payload":${text}}`), 2), isRefused('MALFORMED'), text);
      }
    }
  });

  it('refuses a path that its group does not have', () => {
    const texts: [string, 1 | 2][] = [
      ['{"extra":1}', 1],
      ['{"actor":"x"}', 1],
      ['{"actor":{}}', 1],
      ['{"actor":{"age":1}}', 1],
      ['{"payload":1}', 1],
      ['{"action":"x"}', 2],
    ];
    for (const [text, group] of texts) {
      assert.throws(() => splitGroup(utf8(text), group), isRefused('PATH_UNKNOWN'), text);
    }
  });

  it('either refuses changed bytes or divides them as encodeEvent divides what they say', () => {
    const change = fc.tuple(fc.nat(), fc.nat({ max: 255 }));
    let divided = 0;
    fc.assert(
      fc.property(event, fc.array(change, { minLength: 1, maxLength: 2 }), (one, changes) => {
        const bytes = encodeEvent(one)[1].bytes.slice();
        for (const [place, byte] of changes) bytes[place % bytes.length] = byte;
        let split;
        try {
          split = splitGroup(bytes, 2);
        } catch (error) {
          assert.ok(error instanceof EvidenceError);
          return;
        }
        let text;
        try {
          text = textOf(bytes);
        } catch {
          return;
        }
        // A hash that fits does not make JSON of a text: every group that can be divided can be shown.
        parseJson(text);
        if (!isCanonicalJson(text)) return;
        divided += 1;
        assert.deepEqual(split, encodeEvent(parseJson(text) as Record<string, unknown>)[1]);
      }),
      { seed: SEED, numRuns: runs(2000) },
    );
    assert.ok(divided > runs(100), `${divided} changed texts were divided`);
  });
});
