// The units that a request to redact names: as many fields as one may have, of as large an event as there is.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import { LIMITS } from '@tallystick/contract';
import { formatPath, type QueryStep } from '../query/field-path.ts';
import { asWritten } from '../written-json.ts';
import { namedUnits, unitsOfFields } from './named-units.ts';

const MEMBERS = 240;
const ACTOR = { actorType: 'User', userId: 'u-1' } as const;

/** The processor time of the fastest of some rounds, each long enough for a clock that counts in milliseconds. */
function costOf(work: () => unknown): number {
  const costs = Array.from({ length: 3 }, () => {
    const before = process.cpuUsage();
    for (let i = 0; i < 50; i++) work();
    return process.cpuUsage(before).user / 50;
  });
  return Math.min(...costs);
}

test('as many fields as there may be cost little more than one, however large the event is', () => {
  const keys = Array.from({ length: MEMBERS }, (_, i) => `${'a~/b'.repeat(50)}${i}`.padEnd(250, 'x')).sort();
  const payload = Object.fromEntries(keys.map((key) => [key, 'v'.repeat(800)]));
  const texts = [JSON.stringify({ actor: ACTOR }), JSON.stringify({ payload })] as const;
  const shown = { actor: ACTOR, payload: asWritten(JSON.stringify(payload)) } as never;
  const fields = keys.slice(0, LIMITS.redactFieldsMax).map((key) => formatPath(['payload', key]));
  const named = namedUnits(fields, texts, shown);
  assert.ok('tags' in named && named.tags.length === fields.length);
  const [one, all] = [1, fields.length].map((count) =>
    costOf(() => namedUnits(fields.slice(0, count), texts, shown)),
  );
  assert.ok(all! < 10 * one!, `${all} µs, and one field ${one} µs`);
  const missing = fields.map((_, i): QueryStep[] => ['payload', `none ${i}`]);
  const [few, many] = [1, missing.length].map((count) =>
    costOf(() => unitsOfFields(missing.slice(0, count), texts)),
  );
  assert.ok(many! < 10 * few!, `${many} µs, and one field ${few} µs`);
});

test('what is deleted already keeps a reader from whom a rule withholds another field from nothing', () => {
  const texts = [JSON.stringify({ actor: ACTOR }), '{"payload":{"note":"x"}}'] as const;
  const fields = ['actor.userName', 'payload.iban'];
  const shown = {
    actor: ACTOR,
    payload: { note: 'x' },
    redaction: { fields, reason: 'AccessPolicy' },
  } as const;
  const named = namedUnits(['payload.note'], texts, shown, ['/payload/iban']);
  assert.deepEqual('fields' in named && named.fields, ['payload.note']);
  assert.ok(!('tags' in namedUnits(['payload.note'], texts, shown)), 'one that is withheld does');
});
