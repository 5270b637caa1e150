import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LevelStates } from './level-states.ts';
import { OUTCOMES_NS, OutcomeWindow } from './outcome-window.ts';
import { serviceLevels } from './judge-levels.ts';

const NONE = { lately: undefined, count: 0, sumSeconds: 0 };
const latelyOf = (count: number, p95: number, p99: number) => ({
  lately: { count, percentiles: { p50: 1, p95, p99 } },
  count,
  sumSeconds: 0,
});

test('each level is held against its target, and not judged where few requests speak for it', () => {
  const levels = serviceLevels({
    work: {
      availability: { answered: 2000, failed: 2 },
      ingest: latelyOf(100, 499, 1000),
      query: latelyOf(99, 10_000, 10_000),
    },
    projectionLag: { count: 20, percentiles: { p50: 0, p95: 4999, p99: 12_000 } },
  });
  assert.deepEqual(
    levels.map(({ name, target, current, holds }) => [name, target, current, holds]),
    [
      ['Availability', 0.999, 0.999, true],
      ['IngestLatencyP95', 500, 499, true],
      ['IngestLatencyP99', 1000, 1000, false],
      ['QueryLatencyP95', 200, undefined, undefined],
      ['QueryLatencyP99', 500, undefined, undefined],
      ['ProjectionLagP95', 5000, 4999, true],
      ['ProjectionLagP99', 10_000, 12_000, false],
    ],
  );
  const few = { answered: 999, failed: 999 };
  const ofTenant = serviceLevels({
    work: { availability: few, ingest: NONE, query: NONE },
    projectionLag: undefined,
  });
  assert.deepEqual(
    ofTenant.map(({ name, holds }) => [name, holds]),
    [
      ['Availability', undefined],
      ['IngestLatencyP95', undefined],
      ['IngestLatencyP99', undefined],
      ['QueryLatencyP95', undefined],
      ['QueryLatencyP99', undefined],
    ],
  );
});

test('requests are forgotten an hour later, a few minutes at a time', () => {
  const window = new OutcomeWindow();
  for (let minute = 0; minute < 120; minute++) window.note(minute % 10 === 0, minute * 60e9);
  const { answered, failed } = window.read(119 * 60e9);
  assert.ok(answered >= 60 && answered <= 65, String(answered));
  assert.ok(failed >= 6 && failed <= 7, String(failed));
  assert.deepEqual(window.read(119 * 60e9 + 2 * OUTCOMES_NS), { answered: 0, failed: 0 });
});

test('a level is broken after three measurements that say so, and holds again after twelve', () => {
  const states = new LevelStates();
  const note = (times: number, holds: boolean | undefined) => {
    for (let i = 0; i < times; i++)
      states.note({ name: 'Availability', ...(holds === undefined ? {} : { holds }) });
    return states.isBroken('Availability');
  };
  const table: [times: number, holds: boolean | undefined, isBroken: boolean][] = [
    [2, false, false],
    [1, true, false],
    [2, false, false],
    [1, false, true],
    [11, true, true],
    [1, false, true],
    [6, undefined, true],
    [6, true, false],
  ];
  for (const [i, [times, holds, isBroken]] of table.entries())
    assert.equal(note(times, holds), isBroken, String(i));
});
