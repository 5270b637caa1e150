import assert from 'node:assert/strict';
import { test } from 'node:test';
import { CLASSIFICATIONS } from '@tallystick/contract';
import * as fc from 'fast-check';
import { TENANT } from '../testing/test-call.ts';
import { deciderOf, type SentFacts } from './decide.ts';

/** Nobody may ask for more than the hint. */
function hinted(hint: SentFacts['hint']): SentFacts {
  const asked = (): never => assert.fail('a fact was read that no rule is about');
  return {
    hint,
    content: asked,
    get action() {
      return asked();
    },
    get actor() {
      return asked();
    },
    get resource() {
      return asked();
    },
    get outcome() {
      return asked();
    },
  };
}

const classification = fc.constantFrom(...CLASSIFICATIONS);
const hint = fc.option(classification, { nil: undefined });
const retention = fc.constantFrom('P7Y', 'P30D', 'PT1S');

test("the tenant's settings decide: the hint raises the classification, and never lowers it", () => {
  fc.assert(
    fc.property(classification, hint, retention, (defaultClassification, hinting, defaultRetention) => {
      const tenant = { ...TENANT, defaultClassification, defaultRetention };
      const places = [defaultClassification, ...(hinting === undefined ? [] : [hinting])].map((each) =>
        CLASSIFICATIONS.indexOf(each),
      );
      assert.deepEqual(deciderOf(tenant)(hinted(hinting)), {
        classification: CLASSIFICATIONS[Math.max(...places)],
        retention: defaultRetention,
        decidedBy: undefined,
      });
    }),
    { seed: 20260101, numRuns: 200 },
  );
});

test('a decider is compiled once for each record, and anew when a record takes its place', () => {
  const decide = deciderOf(TENANT);
  assert.equal(deciderOf(TENANT), decide);
  const changed = { ...TENANT, defaultRetention: 'P1D' };
  assert.deepEqual(
    [decide, deciderOf(changed)].map((each) => each(hinted(undefined)).retention),
    ['P7Y', 'P1D'],
  );
});

test('a retention that is none fails before anything is appended', () => {
  assert.throws(() => deciderOf({ ...TENANT, defaultRetention: '7Y' }), /7Y is no duration/);
});
