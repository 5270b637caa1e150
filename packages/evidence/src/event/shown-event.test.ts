// The shown parts of an event: their lists, their order, and forms that could be read in two ways.

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { toBase64 } from '../bytes.ts';
import { refusal } from '../testing/refusal.ts';
import { VECTOR_EVENT } from '../testing/sample-log.ts';
import { closeUnits, openEvent, showRoots, withholdContent, listsOf, type ShownLists } from './show-event.ts';
import {
  byTag,
  type ClosedUnit,
  compareTags,
  isOpen,
  isWhollyOpen,
  type OpenUnit,
  openUnits,
  type ShownEvent,
  shownFrom,
  withholdsMoreThan,
} from './shown-event.ts';
import { tagFrom, tagOf } from './units.ts';

const SALT = new Uint8Array(16).fill(9);
const HASH = toBase64(new Uint8Array(32).fill(3));
const shown = openEvent(VECTOR_EVENT, () => SALT);
const tagText = (path: string): string => toBase64(tagOf(path).bytes);

const openUnit = (path: string, salt: Uint8Array, value: string): OpenUnit => {
  return { tag: tagOf(path), path, salt, value };
};
const closedUnit = (tag: Uint8Array, commitment: Uint8Array): ClosedUnit => ({
  tag: tagFrom(tag),
  commitment,
});
const shownOf = ({ open, closed, groups }: ShownLists): ShownEvent => shownFrom(open, closed, groups);
/** What comes of units when they are handed over, in the order in which they stand here. */
const handedOver = (
  open: readonly OpenUnit[],
  closed: readonly ClosedUnit[],
  roots: readonly (Uint8Array | null)[],
): ShownEvent =>
  shownFrom(
    open.map(({ path, salt, value }) => [path, toBase64(salt), value]),
    closed.map(({ tag, commitment }) => [toBase64(tag.bytes), toBase64(commitment)]),
    roots.map((root) => root && toBase64(root)),
  );
const conflict = refusal('PATH_CONFLICT');
const malformed = refusal('MALFORMED');
const closing = (...paths: string[]): ShownEvent => closeUnits(shown, (path) => paths.includes(path));

describe('what is withheld', () => {
  it('is nothing where every unit is open', () => {
    assert.equal(isWhollyOpen(shown), true);
    assert.equal(isWhollyOpen([{ units: [] }, { units: [] }]), true);
    for (const form of [
      closing('/action'),
      closing('/payload/note'),
      withholdContent(shown),
      showRoots(shown),
    ]) {
      assert.equal(isWhollyOpen(form), false);
    }
    assert.equal(isWhollyOpen([showRoots(shown)[0], shown[1]]), false);
  });

  it('is more than some units where another is closed, or a whole group', () => {
    assert.equal(withholdsMoreThan(shown, []), false);
    assert.equal(withholdsMoreThan(closing('/action'), []), true);
    assert.equal(withholdsMoreThan(closing('/action'), [tagText('/action')]), false);
    assert.equal(withholdsMoreThan(closing('/action', '/payload/note'), [tagText('/action')]), true);
    const both = ['/action', '/payload/note'].map(tagText);
    assert.equal(withholdsMoreThan(closing('/action', '/payload/note'), both), false);
    assert.equal(withholdsMoreThan([closing('/action')[0], withholdContent(shown)[1]], both), true);
  });

  it('is not among the open units', () => {
    const paths = (form: ShownEvent): string[] => openUnits(form).map(({ path }) => path);
    assert.equal(paths(shown).length, 15);
    assert.deepEqual(
      paths(closing('/action')),
      paths(shown).filter((path) => path !== '/action'),
    );
    assert.deepEqual(paths(showRoots(shown)), []);
    assert.ok(paths(withholdContent(shown)).every((path) => !path.startsWith('/payload')));
    assert.equal(isOpen(openUnit('/action', SALT, '1')), true);
    assert.equal(isOpen(closedUnit(new Uint8Array(32), new Uint8Array(32))), false);
  });
});

describe('the lists of what is shown', () => {
  it('hold open units, closed units and roots, each in its place', () => {
    const { open, closed, groups } = listsOf(withholdContent(closing('/action')));
    assert.equal(open.length, 10);
    assert.ok(open.every(([path, salt]) => path !== '/action' && salt === toBase64(SALT)));
    assert.deepEqual(
      closed.map(([tag]) => tag),
      [tagText('/action')],
    );
    assert.deepEqual([groups[0], typeof groups[1]], [null, 'string']);
    const roots = listsOf(showRoots(shown));
    assert.deepEqual([roots.open, roots.closed, new Set(roots.groups).size], [[], [], 2]);
    assert.deepEqual(listsOf(shownOf(roots)), roots);
  });

  it('are of one shape', () => {
    const [open, closed] = [
      ['/action', toBase64(SALT), '1'],
      [tagText('/outcome'), HASH],
    ];
    assert.deepEqual(listsOf(shownFrom([open], [closed], [null, HASH])).groups, [null, HASH]);
    assert.deepEqual(listsOf(shownFrom([], [], [HASH, null])).open, []);
    const wrongGroups = [undefined, null, 'ab', {}, [null], [null, null, null], [1, null], [null, {}]];
    for (const groups of wrongGroups) assert.throws(() => shownFrom([], [], groups), malformed);
    for (const wrong of [
      undefined,
      {},
      'x',
      ['abc'],
      [['a', 'b']],
      [['a', 'b', 'c', 'd']],
      [['a', 'b', 1]],
      [open, []],
    ]) {
      assert.throws(() => shownFrom(wrong, [closed], [null, null]), malformed, JSON.stringify(wrong));
    }
    for (const wrong of [undefined, {}, 'x', ['ab'], [['a']], [['a', 'b', 'c']], [['a', 1]], [closed, []]]) {
      assert.throws(() => shownFrom([open], wrong, [null, null]), malformed, JSON.stringify(wrong));
    }
  });

  it('have salts of 16 bytes, and tags, commitments and roots of 32', () => {
    const lists: ShownLists = { open: [], closed: [], groups: [null, null] };
    const [short, long] = [toBase64(new Uint8Array(15)), toBase64(new Uint8Array(33))];
    shownOf({ ...lists, open: [['/action', toBase64(SALT), '1']], closed: [[tagText('/outcome'), HASH]] });
    for (const wrong of [short, long, '', HASH.slice(1), 'x']) {
      assert.throws(() => shownOf({ ...lists, open: [['/action', wrong, '1']] }), malformed);
      assert.throws(() => shownOf({ ...lists, closed: [[wrong, HASH]] }), malformed);
      assert.throws(() => shownOf({ ...lists, closed: [[HASH, wrong]] }), malformed);
      assert.throws(() => shownOf({ ...lists, groups: [wrong, null] }), malformed);
      assert.throws(() => shownOf({ ...lists, groups: [null, wrong] }), malformed);
    }
  });

  it('hold values that are their own RFC 8785 texts', () => {
    const action = (value: string) => handedOver([openUnit('/action', SALT, value)], [], [null, null]);
    assert.equal(openUnits(action('"x"'))[0]?.value, '"x"');
    for (const value of ['', 'x', '1.0', ' 1', '{"b":1,"a":2}', '"\\u0041"']) {
      assert.throws(() => action(value), refusal('VALUE_NOT_CANONICAL'), value);
    }
  });
});

describe('the order of units', () => {
  const unit = (path: string) => openUnit(path, SALT, '1');
  const closed = (path: string) => closedUnit(tagOf(path).bytes, new Uint8Array(32));
  const first = byTag(['/action', '/outcome', '/timestamp'].map(unit));
  const second = byTag(['/payload/a', '/payload/b', '/context/a'].map(unit));

  it('is group 1 before group 2, tags ascending in both', () => {
    for (const open of [[], first, second, [...first, ...second], [first[0]!, second[0]!]]) {
      const [one, two] = handedOver(open, [], [null, null]);
      assert.ok('units' in one && 'units' in two);
      assert.deepEqual([...one.units, ...two.units], open);
      assert.ok(one.units.every((each) => first.some((known) => known.tag === each.tag)));
    }
    for (const wrong of [
      [...second, ...first],
      [first[0]!, second[0]!, first[1]!],
      first.toReversed(),
      [...first, ...second.toReversed()],
      [first[1]!, first[0]!, first[2]!],
    ]) {
      assert.throws(() => handedOver(wrong, [], [null, null]), malformed);
      const tags = wrong.map(({ path }) => closed(path));
      assert.throws(() => handedOver([], tags, [null, null]), malformed);
    }
  });

  it('merges open and closed units by their tags', () => {
    const all = byTag(['/payload/a', '/payload/b', '/payload/c', '/payload/d'].map(unit));
    const shut = all.filter((_, i) => i % 2 === 0).map(({ path }) => closed(path));
    const [one, two] = handedOver(
      all.filter((_, i) => i % 2 === 1),
      shut,
      [null, null],
    );
    assert.ok('units' in one && 'units' in two);
    assert.deepEqual(one.units, []);
    assert.deepEqual(
      two.units.map(({ tag }) => toBase64(tag.bytes)),
      all.map(({ tag }) => toBase64(tag.bytes)),
    );
    const known = handedOver([], byTag(['/action', '/outcome'].map(closed)), [null, null])[0];
    assert.ok('units' in known && known.units.length === 2);
  });

  it('keeps every unit in its group, however few are open', () => {
    const paths = ['/action', '/outcome', '/payload/a', '/payload/b', '/context/a'];
    for (const only of paths) {
      const open = [unit(only)];
      const shut = [first, second].flatMap((group) =>
        group.filter(({ path }) => path !== only && paths.includes(path)).map(({ path }) => closed(path)),
      );
      const groups = handedOver(open, shut, [null, null]);
      const sizes = groups.map((group) => ('units' in group ? group.units.length : 0));
      assert.deepEqual([sizes, openUnits(groups)], [[2, 3], open]);
    }
  });

  it('has no tag twice, neither in one list nor in both', () => {
    for (const list of [first, second]) {
      assert.throws(() => handedOver([list[0]!, list[0]!], [], [null, null]), conflict);
      assert.throws(
        () => handedOver([], [closed(list[0]!.path), closed(list[0]!.path)], [null, null]),
        conflict,
      );
      assert.throws(() => handedOver(list, [closed(list[1]!.path)], [null, null]), conflict);
      for (const twice of list) assert.throws(() => byTag([...list, twice]), conflict);
      assert.throws(() => byTag([list[0]!, list[0]!]), conflict);
    }
    assert.deepEqual(byTag([]), []);
  });

  it('goes by the first 48 bits and then by all others', () => {
    const tag = (...bytes: number[]) => tagFrom(Uint8Array.from({ length: 32 }, (_, i) => bytes[i] ?? 0));
    const ascending = [
      tag(0),
      tag(0, 0, 0, 0, 0, 0, 1),
      tag(0, 0, 0, 0, 0, 1),
      tag(1),
      tag(1, 0, 0, 0, 0, 0, 0, 1),
      tag(255),
    ];
    for (const [i, a] of ascending.entries()) {
      for (const [j, b] of ascending.entries()) {
        assert.equal(Math.sign(compareTags(a, b)), Math.sign(i - j), `${i} ${j}`);
      }
    }
  });
});

describe('what could be read in two ways', () => {
  const unit = (path: string, value = '1') => openUnit(path, SALT, value);
  const fields = (field: string, count: number) =>
    byTag(Array.from({ length: count }, (_, i) => unit(`/${field}/k${i}`)));

  it('is a group by its root and by its units', () => {
    const root = new Uint8Array(32);
    assert.deepEqual(handedOver([], [], [root, root]), [{ root }, { root }]);
    assert.throws(() => handedOver([unit('/action')], [], [root, null]), conflict);
    assert.throws(() => handedOver([unit('/payload/a')], [], [null, root]), conflict);
    handedOver([unit('/action')], [], [null, root]);
    handedOver([unit('/payload/a')], [], [root, null]);
  });

  it('is a field that should have been opened', () => {
    for (const path of ['/payload', '/context']) {
      assert.throws(() => handedOver([unit(path, '{"a":1}')], [], [null, null]), conflict);
      for (const value of ['{}', '[1]', '"{"', 'null']) handedOver([unit(path, value)], [], [null, null]);
    }
    const [under] = openUnits(handedOver([unit('/payload/a', '{"a":1}')], [], [null, null]));
    assert.equal(under?.path, '/payload/a');
  });

  it('is a field beside what is under it, open or closed', () => {
    for (const field of ['payload', 'context']) {
      const whole = closedUnit(tagOf(`/${field}`).bytes, new Uint8Array(32));
      assert.throws(() => handedOver(fields(field, 2), [whole], [null, null]), conflict);
      assert.throws(
        () => handedOver(byTag([unit(`/${field}`, '[]'), ...fields(field, 1)]), [], [null, null]),
        conflict,
      );
      const other = field === 'payload' ? 'context' : 'payload';
      handedOver(fields(other, 2), [whole], [null, null]);
      handedOver([], [whole], [null, null]);
    }
  });

  it('is more keys under a field than are ever opened', () => {
    for (const field of ['payload', 'context']) {
      handedOver(fields(field, 240), [], [null, null]);
      assert.throws(() => handedOver(fields(field, 241), [], [null, null]), conflict);
    }
    handedOver(byTag([...fields('payload', 240), ...fields('context', 240)]), [], [null, null]);
  });
});
