import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toBase64 } from '../bytes.ts';
import { EvidenceError } from '../errors.ts';
import { closeUnits, openEvent, showRoots, withholdContent } from '../event/show-event.ts';
import { openUnits, type ShownEvent } from '../event/shown-event.ts';
import { tagOf } from '../event/units.ts';
import { refusal } from '../testing/refusal.ts';
import { sampleEvent } from '../testing/sample-log.ts';
import { decideFilter, type FilterCondition, parseFilter } from './bundle-filter.ts';

const INDEX = 7;
const NONE: ReadonlySet<string> = new Set();
const shownOf = (event: Record<string, unknown>): ShownEvent => openEvent(event, () => new Uint8Array(16));
const where = (path: string, ...values: string[]): FilterCondition => ({ path, values: new Set(values) });
const decide = (conditions: FilterCondition[], shown: ShownEvent, deleted = NONE) =>
  decideFilter(conditions, { shown, deleted }, INDEX);
const tagText = (path: string): string => toBase64(tagOf(path).bytes);
const event = sampleEvent(1);
const whole = shownOf(event);

describe('a filter', () => {
  it('is null for everything, or a list of conditions', () => {
    assert.deepEqual(parseFilter(null), []);
    const filter = [
      { path: '/action', values: ['"Read.Invoice"', '"Create.Invoice"'] },
      { path: '/payload/amount', values: ['1.5'] },
    ];
    assert.deepEqual(parseFilter(filter), [
      where('/action', '"Read.Invoice"', '"Create.Invoice"'),
      where('/payload/amount', '1.5'),
    ]);
  });

  it('has at least one condition and at most 64', () => {
    const conditions = Array.from({ length: 65 }, (_, i) => ({ path: `/payload/k${i}`, values: ['1'] }));
    assert.equal(parseFilter(conditions.slice(1)).length, 64);
    for (const filter of [conditions, [], {}, 'all', 0, undefined]) {
      assert.throws(() => parseFilter(filter), refusal('FILTER_UNPROVEN'));
    }
  });

  it('has no path twice', () => {
    const once = { path: '/action', values: ['"x"'] };
    assert.throws(() => parseFilter([once, { ...once, values: ['"y"'] }]), refusal('FILTER_UNPROVEN'));
  });

  it('has conditions of a path and values and nothing else', () => {
    const condition = { path: '/action', values: ['"x"'] };
    for (const faulty of [
      null,
      undefined,
      'x',
      { ...condition, not: true },
      { ...condition, path: 7 },
      { ...condition, values: [] },
      { ...condition, values: '"x"' },
      { ...condition, values: ['"x"', 1] },
      { ...condition, values: ['"x"', 'x'] },
      { ...condition, values: [' 1'] },
    ]) {
      assert.throws(() => parseFilter([faulty]), refusal('FILTER_UNPROVEN'), JSON.stringify(faulty));
    }
    assert.throws(() => parseFilter([{ path: '/nowhere', values: ['1'] }]), refusal('PATH_UNKNOWN'));
  });

  it('cannot ask for a whole field that is usually opened', () => {
    for (const path of ['/payload', '/context']) {
      assert.throws(() => parseFilter([{ path, values: ['1'] }]), refusal('FILTER_UNPROVEN'));
    }
  });
});

describe('an event', () => {
  it('matches where every condition holds, and fails where one does not', () => {
    const action = where('/action', '"Create.Invoice"', '"Read.Invoice"');
    assert.equal(decide([], whole), 'Matches');
    assert.equal(decide([action], whole), 'Matches');
    assert.equal(decide([action, where('/payload/amount', '1.5')], whole), 'Matches');
    assert.equal(decide([action, where('/payload/amount', '2')], whole), 'Fails');
    assert.equal(decide([action, where('/payload/nothing', '2')], whole), 'Fails');
    assert.equal(decide([where('/actor/serviceId', '"s"'), action], whole), 'Fails');
  });

  it('has each of its units found, among however many', () => {
    for (const count of [1, 2, 3, 60]) {
      const payload = Object.fromEntries(Array.from({ length: count }, (_, i) => [`k${i}`, i]));
      const shown = shownOf({ ...event, payload });
      for (const { path, value } of openUnits(shown)) {
        assert.equal(decide([where(path, value)], shown), 'Matches', path);
        assert.equal(decide([where(path, '"another"')], shown), 'Fails', path);
        assert.equal(
          decide(
            [where(path, value)],
            closeUnits(shown, (other) => other !== path),
          ),
          'Matches',
        );
      }
    }
  });

  it('that does not show the deciding unit is refused, and the first such path is named', () => {
    const closed = closeUnits(whole, (path) => path === '/action' || path === '/outcome');
    const conditions = [where('/action', '"x"'), where('/outcome', '"x"')];
    const isRefused = (error: unknown): boolean =>
      error instanceof EvidenceError &&
      error.reason === 'FILTER_UNPROVEN' &&
      error.index === INDEX &&
      error.message.includes('"/action"');
    assert.throws(() => decide(conditions, closed), isRefused);
    assert.throws(() => decide(conditions, showRoots(whole), new Set([tagText('/action')])), isRefused);
    assert.throws(() => decide(conditions, closed, new Set([tagText('/outcome')])), isRefused);
    const amount = [where('/payload/amount', '1.5')];
    assert.throws(() => decide(amount, withholdContent(whole)), refusal('FILTER_UNPROVEN'));
  });

  it('fails for one condition that provably does, also while other fields are closed', () => {
    const closed = closeUnits(whole, (path) => path === '/action');
    assert.equal(decide([where('/action', '"x"'), where('/outcome', '"Failure"')], closed), 'Fails');
    assert.equal(decide([where('/outcome', '"Failure"'), where('/action', '"x"')], closed), 'Fails');
  });

  it('whose deciding unit was deleted neither matches nor fails', () => {
    const closed = closeUnits(whole, (path) => path === '/action');
    const deleted = new Set([tagText('/action')]);
    assert.equal(decide([where('/action', '"x"')], closed, deleted), 'Deleted');
    assert.equal(
      decide([where('/action', '"x"'), where('/outcome', '"Success"')], closed, deleted),
      'Deleted',
    );
    assert.equal(decide([where('/action', '"x"'), where('/outcome', '"Failure"')], closed, deleted), 'Fails');
  });
});

describe('a field that stands as one unit', () => {
  const many = Object.fromEntries(Array.from({ length: 241 }, (_, i) => [`k${i}`, { n: i }]));
  const big = shownOf({ ...event, payload: { ...many, 'a/b': null } });

  it('decides by the key inside it', () => {
    assert.equal(decide([where('/payload/k3', '{"n":3}')], big), 'Matches');
    assert.equal(decide([where('/payload/k3', '{"n":4}')], big), 'Fails');
    assert.equal(decide([where('/payload/a~1b', 'null')], big), 'Matches');
    assert.equal(decide([where('/payload/k241', '{"n":241}')], big), 'Fails');
    assert.equal(decide([where('/payload/toString', 'null')], big), 'Fails');
  });

  it('decides nothing while it is closed, and is deleted if it is said to be', () => {
    const closed = closeUnits(big, (path) => path === '/payload');
    const condition = [where('/payload/k3', '{"n":3}')];
    assert.throws(() => decide(condition, closed), refusal('FILTER_UNPROVEN'));
    assert.equal(decide(condition, closed, new Set([tagText('/payload')])), 'Deleted');
  });

  it('has no keys where it is no object', () => {
    for (const payload of [null, 'text', 7, ['0'], {}]) {
      const shown = shownOf({ ...event, payload });
      for (const path of ['/payload/0', '/payload/length']) {
        assert.equal(decide([where(path, '"0"', '"t"', '1', '4')], shown), 'Fails', JSON.stringify(payload));
      }
    }
  });

  it('is absent where there is none', () => {
    const { submittedBy: _submittedBy, ...bySomebody } = event;
    assert.equal(decide([where('/submittedBy', '"x"')], shownOf(bySomebody)), 'Fails');
    const { payload: _payload, ...without } = event;
    assert.equal(decide([where('/payload/k3', '3')], shownOf(without)), 'Fails');
  });
});
