import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { test } from 'node:test';
import * as fc from 'fast-check';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';
import { AnchorDamage, FIRST_LINE, formatAnchor, formatRecord, headLine, readAnchor } from './format.ts';

const SEED = 20261115;
const ORIGIN = 'audit.example.com/t/acme';

function head(size: number, origin = ORIGIN, fill = size): AnchoredHead {
  return { origin, size, root: new Uint8Array(32).fill(fill) };
}

function fileOf(appends: readonly (readonly AnchoredHead[])[]): { whole: Buffer; ends: number[] } {
  let text = FIRST_LINE;
  let closing = FIRST_LINE;
  const ends = [text.length];
  for (const heads of appends) {
    const record = formatRecord(heads, closing);
    text += record.text;
    closing = record.closing;
    ends.push(text.length);
  }
  return { whole: Buffer.from(text, 'latin1'), ends };
}

const APPENDS = [[head(1), head(7, 'b')], [head(2)], [head(3), head(9, 'b'), head(4)]];
const { whole: WHOLE, ends: ENDS } = fileOf(APPENDS);
const LAST_AT = ENDS.at(-2)!;

test('the format is the one described in format.ts', () => {
  const { whole } = fileOf([[head(1)], [head(2)]]);
  assert.equal(
    whole.toString(),
    [
      'tallystick-anchor/1',
      'audit.example.com/t/acme 1 AQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQEBAQE=',
      '= 1 f5788d185ca5e432400ca2b8e5cbff657c38a39b43469d13ad2ce9f17e6f8a12',
      'audit.example.com/t/acme 2 AgICAgICAgICAgICAgICAgICAgICAgICAgICAgICAgI=',
      '= 1 3e7c8093d01ba703e3b32d0d9e91e17dcb96751d577d0dbcc8fe1bfbbb440b56',
      '',
    ].join('\n'),
  );
});

test('reads the newest head of every origin', () => {
  const { heads, bytes, lastAt } = readAnchor(WHOLE);
  assert.deepEqual([...heads.values()], [head(4), head(9, 'b')]);
  assert.deepEqual({ bytes, lastAt }, { bytes: WHOLE.length, lastAt: LAST_AT });
});

test('reads all heads of every origin that are in whole records, ascending', () => {
  const acme = [head(1), head(2)];
  assert.deepEqual(
    [...readAnchor(WHOLE).history.values()],
    [
      [...acme, head(3), head(4)],
      [head(7, 'b'), head(9, 'b')],
    ],
  );
  assert.deepEqual([...readAnchor(WHOLE.subarray(0, -1)).history.values()], [acme, [head(7, 'b')]]);
  assert.throws(() => readAnchor(Buffer.from(`${FIRST_LINE}x\n`)), AnchorDamage);
});

test('a last record that is cut at any byte is ignored', () => {
  for (let length = LAST_AT; length < WHOLE.length; length++) {
    const { heads, bytes } = readAnchor(WHOLE.subarray(0, length));
    assert.equal(bytes, LAST_AT, `cut at ${length}`);
    assert.deepEqual([...heads.values()], [head(2), head(7, 'b')]);
  }
});

test('every change of a single byte is found, before the last record and in it', () => {
  for (let at = 0; at < WHOLE.length; at++) {
    const values = at % 7 === 0 ? Array.from({ length: 256 }, (_, value) => value) : [0, 10, 32, 48, 61, 65];
    for (const value of values.filter((other) => other !== WHOLE[at])) {
      const changed = Buffer.from(WHOLE);
      changed[at] = value;
      assert.throws(() => readAnchor(changed), AnchorDamage, `byte ${at} to ${value}`);
    }
  }
});

test('damage names its line', () => {
  const lineOf = (change: (text: string) => string): number => {
    try {
      readAnchor(Buffer.from(change(WHOLE.toString('latin1')), 'latin1'));
    } catch (error) {
      assert.ok(error instanceof AnchorDamage);
      return error.line;
    }
    throw new Error('no damage was found');
  };
  assert.equal(
    lineOf((text) => text.replace('anchor/1', 'anchor/2')),
    1,
  );
  assert.equal(
    lineOf((text) => text.replace('b 7', 'b  7')),
    3,
  );
  assert.equal(
    lineOf((text) => text.replace('b 7', 'b 8')),
    4,
  );
  assert.equal(
    lineOf((text) => text.replace('= 1 ', '= 01 ')),
    6,
  );
  assert.equal(
    lineOf(() => ''),
    1,
  );
});

test('a removed, repeated or moved record is found', () => {
  const [first, second, third] = APPENDS.map((_, i) => WHOLE.subarray(ENDS[i], ENDS[i + 1]));
  const start = WHOLE.subarray(0, ENDS[0]);
  for (const records of [
    [second, third],
    [first, third],
    [first, first, second, third],
    [second, first, third],
  ]) {
    assert.throws(
      () => readAnchor(Buffer.concat([start, ...records.map((record) => record!)])),
      AnchorDamage,
    );
  }
});

test('heads that go back are refused, although their checksums are right', () => {
  for (const appends of [[[head(2)], [head(1)]], [[head(2)], [head(2, ORIGIN, 9)]], [[head(2), head(2)]]]) {
    assert.throws(() => readAnchor(fileOf(appends).whole), /goes from 2 to/);
  }
});

test('a record that says another number of heads is refused, although its checksum is right', () => {
  const covered = `${FIRST_LINE}${headLine(head(1))}= 2 `;
  const text = `${covered}${createHash('sha256').update(covered).digest('hex')}\n`;
  assert.throws(() => readAnchor(Buffer.from(text)), /line 3 is not the checksum/);
});

test('unwritten sectors make the last record an incomplete one', () => {
  const many = Array.from({ length: 40 }, (_, i) => head(i + 1, `audit.example.com/t/tenant-${i}`));
  const { whole, ends } = fileOf([[head(1)], many]);
  const recordAt = ends[1]!;
  for (let sector = Math.floor(recordAt / 512); sector * 512 < whole.length; sector++) {
    const torn = Buffer.from(whole);
    torn.fill(0, Math.max(recordAt, sector * 512), Math.min(whole.length, (sector + 1) * 512));
    assert.equal(readAnchor(torn).bytes, recordAt, `sector ${sector}`);
  }
  // Anywhere else, zeros are damage: another record follows, or they do not fill a sector.
  const followed = Buffer.concat([whole, whole.subarray(recordAt)]).fill(0, 1024, 1536);
  assert.throws(() => readAnchor(followed), AnchorDamage);
  assert.throws(() => readAnchor(Buffer.from(whole).fill(0, 1024, 1500)), AnchorDamage);
});

test('refuses heads that the form cannot hold', () => {
  for (const origin of ['', '=', 'a b', 'a\n', 'ä', 'a\u0000']) {
    assert.throws(() => headLine(head(1, origin)), /origin/);
  }
  for (const size of [-1, 0.5, Number.NaN, 2 ** 53]) assert.throws(() => headLine(head(size)), /size/);
  assert.throws(() => headLine({ ...head(1), root: new Uint8Array(31) }), /31 bytes/);
});

test(`written heads are read back, and any cut gives an earlier state (seed ${SEED})`, () => {
  const origins = fc.constantFrom('=a', '==', 'a', 'b/t/c', '~');
  const growths = fc.array(
    fc.array(fc.tuple(origins, fc.integer({ min: 1, max: 2 ** 40 })), { minLength: 1 }),
  );
  fc.assert(
    fc.property(growths, fc.nat(), (growth, cutSeed) => {
      const newest = new Map<string, AnchoredHead>();
      const states = [[] as AnchoredHead[]];
      const appends = growth.map((steps) => {
        const heads = steps.map(([origin, more]) =>
          head((newest.get(origin)?.size ?? 0) + more, origin, more),
        );
        return heads.filter((one) => {
          const isLarger = one.size > (newest.get(one.origin)?.size ?? 0);
          if (isLarger) newest.set(one.origin, one);
          return isLarger;
        });
      });
      const sofar = new Map<string, AnchoredHead>();
      for (const heads of appends) {
        for (const one of heads) sofar.set(one.origin, one);
        states.push([...sofar.values()]);
      }
      const { whole, ends } = fileOf(appends);
      const length = ends[0]! + (cutSeed % (whole.length - ends[0]! + 1));
      const content = readAnchor(whole.subarray(0, length));
      const count = ends.findLastIndex((end) => end <= length);
      assert.equal(content.bytes, ends[count]);
      assert.deepEqual([...content.heads.values()], states[count]);
      assert.deepEqual(readAnchor(Buffer.from(formatAnchor(states.at(-1)!))).heads, sofar);
    }),
    { seed: SEED, numRuns: 300 },
  );
});
