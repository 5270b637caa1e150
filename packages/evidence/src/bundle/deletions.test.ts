import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import * as fc from 'fast-check';
import { EvidenceError } from '../errors.ts';
import { type Entry, KINDS } from '../event/entry.ts';
import type { IndexRange, Notice } from '../event/notices.ts';
import { refusal } from '../testing/refusal.ts';
import { Deletions } from './deletions.ts';
import { runs } from '../testing/size.ts';

const SEED = 20260115;
const EVENT_ID = '01KE0000000000000000000042';
const hash = new Uint8Array(32);
const entryAt = (index: number): Entry => ({
  kind: KINDS.event,
  index,
  receivedAtMs: 0,
  eventId: EVENT_ID,
  previous: hash,
  content: hash,
});
const redaction = (index: number, leafIndex: number, tags: string[]) => ({
  kind: KINDS.redaction,
  index,
  payload: { leafIndex, eventId: EVENT_ID, tags, cause: 'Redaction' as const },
});

const purge = (index: number, ranges: IndexRange[], count: number): Notice => ({
  kind: KINDS.purge,
  index,
  payload: { policyId: null, policyVersion: null, cause: 'Retention', ranges, count, subtrees: [] },
});
const gapAt = (deletions: Deletions): number | undefined => {
  try {
    deletions.explain();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof EvidenceError && error.reason === 'GAP_UNEXPLAINED', String(error));
    return error.index;
  }
};

describe('deletions', () => {
  it('are as many as the events they were made in', () => {
    const deletions = new Deletions();
    assert.equal(deletions.count, 0);
    deletions.deleted(entryAt(1), true);
    deletions.deleted(entryAt(2), ['a', 'b']);
    assert.equal(deletions.count, 2);
  });

  it('of the same units of very many events wait for their notices, which come behind them all', () => {
    const deletions = new Deletions();
    const tags = Array.from({ length: 11 }, (_, i) => String(i));
    const events = 100_000;
    for (let index = 0; index < events; index++) deletions.deleted(entryAt(index), [...tags]);
    assert.equal(deletions.unexplained, events);
    for (let index = 0; index < events; index++) {
      deletions.notice(redaction(events + 2 * index, index, tags.slice(0, 5)));
      if (index > 0) deletions.notice(redaction(events + 2 * index + 1, index, tags.slice(3)));
    }
    assert.equal(gapAt(deletions), 0);
    assert.equal(deletions.unexplained, 1);
    deletions.notice(redaction(3 * events, 0, tags));
    assert.equal(deletions.explain().length, 2 * events);
  });

  it('of units are explained for one entry, one event id and one tag each', () => {
    const explainedBy = (notice: Notice): number | undefined => {
      const deletions = new Deletions();
      deletions.deleted(entryAt(3), ['a']);
      deletions.notice(notice);
      return gapAt(deletions);
    };
    const right = redaction(9, 3, ['b', 'a']);
    assert.equal(explainedBy(right), undefined);
    assert.equal(explainedBy(redaction(9, 4, ['a'])), 3);
    assert.equal(explainedBy(redaction(9, 3, ['b'])), 3);
    const { kind, index, payload } = redaction(9, 3, ['a']);
    const other = { ...payload, eventId: '01KE0000000000000000000043' };
    assert.equal(explainedBy({ kind, index, payload: other }), 3);
    assert.equal(explainedBy(purge(9, [[0, 9]], 9)), 3);
  });

  it('name the first gap, be it of units or of whole events', () => {
    for (const [units, wholly] of [
      [3, 5],
      [5, 3],
    ] as const) {
      const deletions = new Deletions();
      for (const index of [3, 5]) deletions.deleted(entryAt(index), index === wholly ? true : ['a']);
      assert.equal(gapAt(deletions), Math.min(units, wholly));
    }
  });

  it('that no notice explains are counted, each event once', () => {
    const deletions = new Deletions();
    deletions.deleted(entryAt(1), true);
    deletions.deleted(entryAt(2), true);
    deletions.deleted(entryAt(3), ['a', 'b']);
    deletions.deleted(entryAt(4), ['a', 'b']);
    deletions.deleted(entryAt(5), ['a', 'b']);
    assert.equal(deletions.unexplained, 5, 'before any notice');
    deletions.notice(purge(8, [[0, 6]], 1));
    deletions.notice(redaction(9, 4, ['b', 'a']));
    deletions.notice(redaction(10, 5, ['a']));
    assert.equal(gapAt(deletions), 2);
    assert.deepEqual([deletions.count, deletions.unexplained], [5, 3]);
  });

  it('name the notices that explain them in the order of the log', () => {
    const deletions = new Deletions();
    deletions.deleted(entryAt(1), true);
    deletions.deleted(entryAt(2), ['a']);
    deletions.notice(purge(9, [[1, 2]], 1));
    deletions.notice(redaction(12, 2, ['a']));
    deletions.notice(purge(14, [[1, 2]], 1));
    deletions.notice(purge(15, [[0, 1]], 1));
    assert.deepEqual(deletions.explain(), [9, 12]);
  });

  it(`of whole events are explained as if they were explained one by one (seed ${SEED})`, () => {
    const cuts = fc.array(fc.nat(14), { minLength: 2, maxLength: 6 });
    const notice = fc.record({ cuts, count: fc.integer({ min: 1, max: 8 }) });
    const deleted = fc.constant('Deleted' as const);
    const kept = fc.constant('Kept' as const);
    const place = fc.oneof(
      { weight: 3, arbitrary: deleted },
      { weight: 5, arbitrary: kept },
      { weight: 1, arbitrary: notice },
    );
    const history = fc
      .tuple(fc.array(place, { maxLength: 14 }), fc.array(notice, { maxLength: 5 }))
      .map(([places, last]) => [...places, ...last]);
    let explained = 0;
    let partly = 0;
    fc.assert(
      fc.property(history, (places) => {
        const deletions = new Deletions();
        const gone: number[] = [];
        const purged: { from: number; to: number; notice: number }[] = [];
        const left = new Map<number, number>();
        for (const [index, what] of places.entries()) {
          if (what === 'Kept') continue;
          if (what === 'Deleted') {
            deletions.deleted(entryAt(index), true);
            gone.push(index);
            continue;
          }
          const cuts = [...new Set(what.cuts.filter((cut) => cut <= index))].sort((a, b) => a - b);
          const ranges: IndexRange[] = [];
          for (let i = 0; i + 1 < cuts.length; i += 2) ranges.push([cuts[i]!, cuts[i + 1]!]);
          deletions.notice(purge(index, ranges, what.count));
          for (const [from, to] of ranges) purged.push({ from, to, notice: index });
          left.set(index, what.count);
        }
        purged.sort((a, b) => a.from - b.from || a.notice - b.notice);
        const explaining = new Set<number>();
        const gaps = gone.filter((index) => {
          const by = purged.find(
            ({ from, to, notice }) => from <= index && index < to && left.get(notice)! > 0,
          );
          if (by === undefined) return true;
          left.set(by.notice, left.get(by.notice)! - 1);
          explaining.add(by.notice);
          return false;
        });
        const gap = gaps[0];
        if (gap !== undefined) assert.equal(gapAt(deletions), gap);
        else
          assert.deepEqual(
            deletions.explain(),
            [...explaining].sort((a, b) => a - b),
          );
        assert.deepEqual([deletions.count, deletions.unexplained], [gone.length, gaps.length]);
        if (gap === undefined && explaining.size > 1) explained++;
        if (gaps.length > 1 && explaining.size > 0) partly++;
      }),
      { seed: SEED, numRuns: runs(8000) },
    );
    assert.ok(explained > runs(200), `${explained} explained by more than one notice`);
    assert.ok(partly > runs(200), `${partly} explained in part`);
  });

  it('of whole events may wait in a million ranges and no more', () => {
    const deletions = new Deletions();
    for (let n = 0; n < 1_000_000; n++) deletions.deleted(entryAt(2 * n), true);
    deletions.deleted(entryAt(1_999_999), true);
    assert.throws(() => deletions.deleted(entryAt(2_000_001), true), refusal('MALFORMED'));
  });

  it('take no room for ranges of notices in which nothing is gone', () => {
    const deletions = new Deletions();
    deletions.deleted(entryAt(5), true);
    for (const idle of [
      [0, 5],
      [6, 9],
      [0, 1],
    ] satisfies IndexRange[]) {
      const ranges = Array.from({ length: 10_000 }, () => idle);
      for (let n = 10; n < 111; n++) deletions.notice(purge(n, ranges, 1));
    }
    assert.equal(gapAt(deletions), 5);
  });

  it('may be covered by a million ranges of notices and no more', () => {
    const deletions = new Deletions();
    deletions.deleted(entryAt(0), true);
    const ranges = Array.from({ length: 10_000 }, (): IndexRange => [0, 1]);
    for (let n = 1; n <= 100; n++) deletions.notice(purge(n, ranges, 1));
    for (const idle of [
      [1, 2],
      [0, 0],
    ] satisfies IndexRange[])
      deletions.notice(purge(101, [idle], 1));
    assert.throws(() => deletions.notice(purge(102, [[0, 1]], 1)), refusal('MALFORMED'));
  });

  it('take no longer where a million ranges explain none of a million events', () => {
    const deletions = new Deletions();
    for (let n = 0; n < 500_000; n++) deletions.deleted(entryAt(2 * n), true);
    const ranges = Array.from({ length: 10_000 }, (): IndexRange => [0, 1_000_000]);
    for (let n = 0; n < 100; n++) deletions.notice(purge(1_000_000 + n, ranges, 1));
    assert.equal(gapAt(deletions), 200);
    assert.equal(deletions.unexplained, 499_900);
  });

  it('stop reading when more wait for a notice than memory should hold', () => {
    const deletions = new Deletions();
    for (let index = 0; index < 999; index++) {
      const tags = Array.from({ length: 1000 }, (_, i) => `t${index} ${i}`);
      deletions.deleted(entryAt(index), tags);
    }
    assert.throws(() => deletions.deleted(entryAt(1000), ['one more']), refusal('MALFORMED'));
  });

  it('keep nothing of notices that explain nothing', () => {
    const deletions = new Deletions();
    for (let index = 1; index < 2000; index++) deletions.notice(redaction(index, 0, [`t${index}`]));
    assert.deepEqual(deletions.explain(), []);
  });

  it('wait no longer once a notice explains them', () => {
    const deletions = new Deletions();
    for (let index = 0; index < 3000; index += 2) {
      deletions.deleted(entryAt(index), ['a', 'b']);
      deletions.notice(redaction(index + 1, index, ['a', 'b']));
    }
    assert.equal(deletions.explain().length, 1500);
    deletions.deleted(entryAt(4000), ['c']);
    assert.equal(gapAt(deletions), 4000);
  });
});
