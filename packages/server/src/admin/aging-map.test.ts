import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { AgingMap } from './aging-map.ts';

const make = () => ({});

test('an entry that is used is the same one for as long as it is used', () => {
  const map = new AgingMap<string, object>({ entriesMax: 2, ageNs: 100 }, 0);
  const entry = map.use('kept', make, 0);
  for (let nowNs = 0; nowNs < 2000; nowNs += 50) {
    map.use(`other ${nowNs}`, make, nowNs);
    assert.equal(map.use('kept', make, nowNs), entry);
  }
});

test('an entry is there for an age at least after its last use, and gone two ages later', () => {
  fc.assert(
    fc.property(fc.array(fc.nat(250), { minLength: 1, maxLength: 50 }), (pauses) => {
      const map = new AgingMap<string, object>({ entriesMax: 1000, ageNs: 100 }, 0);
      map.use('watched', make, 0);
      let nowNs = 0;
      for (const pause of pauses) {
        nowNs += pause;
        map.use('another', make, nowNs);
        if (nowNs <= 100) assert.ok(map.get('watched') !== undefined, `gone after ${nowNs}`);
      }
      // Generations end when somebody comes, so two have to.
      for (const later of [300, 600]) map.use('another', make, nowNs + later);
      assert.equal(map.get('watched'), undefined);
    }),
  );
});

test('never more than two full generations are held', () => {
  const map = new AgingMap<number, object>({ entriesMax: 10 }, 0);
  for (let i = 0; i < 1000; i++) {
    map.use(i, make, i);
    assert.ok(map.size <= 20);
  }
  assert.ok(map.get(999) !== undefined && map.get(990) !== undefined, 'the newest are there');
  assert.equal(map.get(900), undefined);
});

test('looking keeps nothing alive', () => {
  const map = new AgingMap<string, object>({ entriesMax: 2 }, 0);
  map.use('looked at', make, 0);
  for (let i = 0; i < 4; i++) {
    map.use(`other ${i}`, make, 0);
    map.get('looked at');
  }
  assert.equal(map.get('looked at'), undefined);
});
