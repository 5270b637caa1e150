// The division of an event into units is unique, and what is shown of it has one reading.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { compareBytes, toBase64, utf8 } from '../bytes.ts';
import { canonicalJson } from '../json/canonical-json.ts';
import { EvidenceError, type Reason } from '../errors.ts';
import { byTag, compareTags, type ShownEvent, shownFrom } from './shown-event.ts';
import { listsOf, type ShownLists, closeUnits, openEvent, withholdContent, unitsOf } from './show-event.ts';
import { LABEL_TAG } from './labels.ts';
import { sha256 } from '../hash/sha256.ts';
import { VECTOR_EVENT } from '../testing/sample-log.ts';
import { contentOf } from './content.ts';
import { eventOf, groupOf, tagFrom, tagOf, tokensOf } from './units.ts';

const saltOf = (): Uint8Array => new Uint8Array(16).fill(9);
const keys = fc.string({ unit: 'binary', maxLength: 20 });
const content = fc.dictionary(keys, fc.jsonValue({ maxDepth: 3 }), { maxKeys: 8 });

describe('units', () => {
  it('are one per field, and one per key of an object', () => {
    const units = unitsOf({
      action: 'A.B',
      actor: { actorType: 'User' },
      context: {},
      payload: { 'a/b~c': [1, {}] },
    });
    assert.deepEqual(units, [
      { path: '/action', value: '"A.B"' },
      { path: '/actor/actorType', value: '"User"' },
      { path: '/context', value: '{}' },
      { path: '/payload/a~1b~0c', value: '[1,{}]' },
    ]);
    assert.deepEqual(
      unitsOf({ payload: { 'a/b': 1, 'a~b': 2 } }).map(({ path }) => path),
      ['/payload/a~1b', '/payload/a~0b'],
    );
  });

  it('leave an object whole that has too many keys or too long a key', () => {
    const many = (count: number) => Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
    assert.equal(unitsOf({ payload: many(240) }).length, 240);
    assert.equal(unitsOf({ payload: many(241) }).length, 1);
    assert.equal(unitsOf({ payload: { ['k'.repeat(256)]: 1, b: 2 } }).length, 2);
    assert.equal(unitsOf({ payload: { ['k'.repeat(257)]: 1, b: 2 } }).length, 1);
    assert.equal(unitsOf({ payload: { ['€'.repeat(85)]: 1, b: 2 } }).length, 2);
    assert.equal(unitsOf({ payload: { ['€'.repeat(86)]: 1, b: 2 } }).length, 1);
    for (const payload of [[1, 2], null, 'x', 7]) assert.equal(unitsOf({ payload }).length, 1);
  });

  it('give the event back', () => {
    fc.assert(
      fc.property(content, content, (context, payload) => {
        fc.pre([...Object.keys(context), ...Object.keys(payload)].every((key) => key.isWellFormed()));
        const event = { ...VECTOR_EVENT, context, payload };
        fc.pre(isCanonical(event));
        const again = eventOf(unitsOf(event));
        assert.equal(
          canonicalJson(JSON.parse(JSON.stringify(again))),
          canonicalJson(JSON.parse(JSON.stringify(event))),
        );
      }),
      { seed: 4, numRuns: 500 },
    );
  });

  it('keep __proto__ as a key like any other', () => {
    const payload = JSON.parse('{"__proto__":{"admin":true},"constructor":1}') as Record<string, unknown>;
    const units = unitsOf({ payload });
    assert.deepEqual(units.map(({ path }) => path).sort(), ['/payload/__proto__', '/payload/constructor']);
    const event = eventOf(units) as { payload: Record<string, unknown> };
    assert.deepEqual(Object.keys(event.payload).sort(), ['__proto__', 'constructor']);
    assert.equal(({} as Record<string, unknown>)['admin'], undefined);
  });
});

describe('paths', () => {
  it('have one or two tokens, in a known field', () => {
    assert.deepEqual(tokensOf('/payload/'), ['payload', '']);
    assert.deepEqual(tokensOf('/payload/a~1b~01'), ['payload', 'a/b~1']);
    assert.deepEqual(tokensOf('/payload/a\nb'), ['payload', 'a\nb']);
    assert.deepEqual(tokensOf('/'), ['']);
    assert.equal(groupOf('/actor/userId'), 1);
    assert.equal(groupOf('/context'), 2);
    assert.equal(groupOf('/payload/x'), 2);
    const unknown = [
      '',
      'action',
      '/',
      '/Action',
      '/actor',
      '/actor/age',
      '/payload/a/b',
      '/payload/~',
      '/payload/~2',
      '/payload/\ud800',
      `/payload/${'k'.repeat(257)}`,
      '/eventId',
      '/action/',
      '/payloads',
      'payload',
      'x/payload',
      'x/payload/a',
      '\n/payload/a',
      '~/payload/a',
      '/x/payload/a',
      '//payload/a',
      '/payload/payload/a',
      '/payload/a/',
      '/payload/a\n/payload/a',
    ];
    for (const path of unknown) refused(() => groupOf(path), 'PATH_UNKNOWN');
  });

  it('have different tags', () => {
    const tags = ['/action', '/payload', '/payload/', '/payload/a', '/context/a'].map((path) =>
      toBase64(tagOf(path).bytes),
    );
    assert.equal(new Set(tags).size, 5);
  });

  it('have tags that are hashes of them, however long they are, the first time and again', () => {
    for (const length of [1, 1024, 1025, 100_000]) {
      const path = `/${'k'.repeat(length - 1)}`;
      const expected = toBase64(sha256(LABEL_TAG, utf8(path)));
      assert.deepEqual(
        [tagOf(path), tagOf(path)].map(({ bytes }) => toBase64(bytes)),
        [expected, expected],
      );
    }
  });

  it('have tags in the order of their bytes, wherever in memory those stand', () => {
    const hashes = fc.sample(fc.uint8Array({ minLength: 32, maxLength: 32 }), { seed: 5, numRuns: 40 });
    for (const at of [0, 1, 4, 5, 6, 7, 31]) {
      hashes.push(hashes[0]!.with(at, 0), hashes[0]!.with(at, 255));
    }
    const tags = hashes.map((hash, i) => {
      const among = new Uint8Array(40);
      among.set(hash, i % 8);
      const { bytes, words, order } = tagFrom(among.subarray(i % 8, (i % 8) + 32));
      assert.deepEqual([bytes, new Uint8Array(words.buffer, words.byteOffset, 32)], [hash, hash]);
      assert.ok(order >= 0);
      return { bytes, words, order };
    });
    for (const a of tags) {
      for (const b of tags) {
        assert.equal(Math.sign(compareTags(a, b)), Math.sign(compareBytes(a.bytes, b.bytes)));
      }
    }
  });
});

const shownOf = ({ open, closed, groups }: ShownLists): ShownEvent => shownFrom(open, closed, groups);

describe('what is shown', () => {
  const shown = openEvent(VECTOR_EVENT, saltOf);
  const lists = (): ShownLists => structuredClone(listsOf(shown));

  it('comes back from its lists, which have one order', () => {
    for (const form of [shown, withholdContent(shown), closeUnits(shown, (path) => path.length % 2 === 0)]) {
      const again = shownOf(listsOf(form));
      assert.deepEqual(listsOf(again), listsOf(form));
      assert.deepEqual(contentOf(again), contentOf(shown));
      const { open, closed, groups } = listsOf(form);
      refused(() => shownOf({ open: open.toReversed(), closed, groups }), 'MALFORMED');
      if (closed.length > 1)
        refused(() => shownOf({ open, closed: closed.toReversed(), groups }), 'MALFORMED');
    }
  });

  it('is refused with a unit twice, open or closed', () => {
    const twice = lists();
    refused(() => shownOf({ ...twice, open: twice.open.toSpliced(0, 0, twice.open[0]!) }), 'PATH_CONFLICT');
    const closed: [string, string] = [toBase64(tagOf('/action').bytes), toBase64(new Uint8Array(32))];
    refused(() => shownOf({ ...twice, closed: [closed] }), 'PATH_CONFLICT');
    refused(() => shownOf({ ...twice, open: [], closed: [closed, closed] }), 'PATH_CONFLICT');
  });

  it('is refused with a path that only ends like one, beside or without the one that it would stand for', () => {
    const salt = toBase64(saltOf());
    for (const path of ['x/payload/amount', '/x/payload/amount', '~/payload/amount']) {
      const extra: [string, string, string] = [path, salt, '1'];
      refused(() => shownOf({ open: [extra], closed: [], groups: [null, null] }), 'PATH_UNKNOWN');
      const both: (typeof extra)[] = [extra, ['/payload/amount', salt, '2']];
      const open = both.sort(([a], [b]) => compareBytes(tagOf(a).bytes, tagOf(b).bytes));
      refused(() => shownOf({ open, closed: [], groups: [null, null] }), 'PATH_UNKNOWN');
    }
  });

  it('is refused with a group shown twice over', () => {
    refused(() => shownOf({ ...lists(), groups: [toBase64(new Uint8Array(32)), null] }), 'PATH_CONFLICT');
  });

  it('is refused with a closed or open prefix beside what is under it', () => {
    const tag = toBase64(tagOf('/payload').bytes);
    refused(() => shownOf({ ...lists(), closed: [[tag, toBase64(new Uint8Array(32))]] }), 'PATH_CONFLICT');
    const beside = openEvent({ context: [], payload: { a: 1 } }, saltOf)[1];
    const under = openEvent({ context: { a: 1 } }, saltOf)[1];
    assert.ok('units' in beside && 'units' in under);
    const both = listsOf([{ units: [] }, { units: byTag([...beside.units, ...under.units]) }]);
    refused(() => shownOf(both), 'PATH_CONFLICT');
  });

  it('is refused when it should have been opened, and not when it could not be', () => {
    const salt = toBase64(saltOf());
    const payload = (value: string) => () =>
      shownOf({ open: [['/payload', salt, value]], closed: [], groups: [null, null] });
    refused(payload('{"a":1}'), 'PATH_CONFLICT');
    const many = canonicalJson(Object.fromEntries(Array.from({ length: 241 }, (_, i) => [`k${i}`, i])));
    for (const value of ['{}', '[1]', 'null', '1', '"x"', many]) payload(value)();
  });

  it('is refused in any other shape', () => {
    for (const [open, closed, groups] of [
      [1, [], [null, null]],
      [[['/action', 'x']], [], [null, null]],
      [[], [['x', 1]], [null, null]],
      [[], [], [null]],
      [[], [], [1, null]],
      [undefined, undefined, undefined],
    ]) {
      refused(() => shownFrom(open, closed, groups), 'MALFORMED');
    }
    refused(() => shownOf({ ...lists(), open: [['/action', 'AAAA', '""']] }), 'MALFORMED');
    refused(() => shownOf({ open: [], closed: [['AAAA', 'AAAA']], groups: [null, null] }), 'MALFORMED');
  });
});

function isCanonical(value: unknown): boolean {
  try {
    canonicalJson(value);
    return true;
  } catch {
    return false;
  }
}

function refused(work: () => unknown, reason: Reason): void {
  assert.throws(work, (error) => error instanceof EvidenceError && error.reason === reason);
}
