// Members that are dropped from a request, and members that are not.

import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as fc from 'fast-check';
import { runs } from '../../evidence/src/testing/size.ts';
import { BatchRequest } from './schemas/batch.ts';
import { EventDraft } from './schemas/event.ts';
import { ExportRequest } from './schemas/export.ts';
import { PolicyConfiguration } from './schemas/policy.ts';
import { SubscriptionPatch } from './schemas/webhook.ts';
import { withoutIgnored } from './without-ignored.ts';

const draft = {
  timestamp: '2026-01-02T03:04:05.678Z',
  actor: { actorType: 'User', userId: 'u-1' },
  action: 'Delete.Invoice',
  resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
};

test('null in an optional member is absent, at every level', () => {
  const sent = { ...draft, actor: { ...draft.actor, userName: null }, payload: null, eventId: null };
  assert.deepEqual(withoutIgnored(EventDraft, sent), draft);
  assert.deepEqual(withoutIgnored(BatchRequest, { events: [sent, draft], transactional: null }), {
    events: [draft, draft],
  });
});

test('null in a required or an unknown member stays, for the validator to refuse', () => {
  const sent = { ...draft, action: null, colour: null };
  assert.deepEqual(withoutIgnored(EventDraft, sent), sent);
});

test('nulls inside context, payload and conditions are the caller’s own', () => {
  const sent = { ...draft, context: { a: null }, payload: { b: [null, { c: null }] } };
  assert.equal(withoutIgnored(EventDraft, sent), sent);
  const policy = {
    name: 'p',
    policyType: 'Alert',
    rules: [{ conditions: { 'payload.x': null }, effect: {}, name: null }],
  };
  assert.deepEqual(withoutIgnored(PolicyConfiguration, policy), {
    ...policy,
    rules: [{ conditions: { 'payload.x': null }, effect: {} }],
  });
});

test('read-only members of a record that is sent back are dropped unseen', () => {
  const sent = { name: 'p', policyType: 'Alert', version: 'nonsense', policyId: 7, createdAt: null };
  assert.deepEqual(withoutIgnored(PolicyConfiguration, sent), { name: 'p', policyType: 'Alert' });
});

test('in a merge patch null has a meaning and stays', () => {
  const sent = {
    filters: null,
    timeoutSeconds: null,
    retry: { strategy: 'Exponential', initialDelay: null },
  };
  assert.deepEqual(withoutIgnored(SubscriptionPatch, sent), sent);
});

test('in a tagged union the named variant decides', () => {
  const sent = { destination: { type: 'Sftp', host: 'h', port: null, bucket: null } };
  assert.deepEqual(withoutIgnored(ExportRequest, sent), {
    destination: { type: 'Sftp', host: 'h', bucket: null },
  });
  const unknown = { destination: { type: 'Fax', port: null } };
  assert.equal(withoutIgnored(ExportRequest, unknown), unknown);
});

test('a member called __proto__ or toString is an ordinary unknown member', () => {
  const sent: unknown = JSON.parse('{"payload":null,"__proto__":{"polluted":1},"toString":null}');
  const kept = withoutIgnored(EventDraft, sent) as object;
  assert.deepEqual(Object.keys(kept), ['__proto__', 'toString']);
  assert.equal(Object.getPrototypeOf(kept), Object.prototype);
});

test('in any request, nothing without null or read-only members is changed (seed 20260103)', () => {
  const value = fc.jsonValue().filter((one) => !JSON.stringify(one).includes('null'));
  fc.assert(
    fc.property(value, (payload) => {
      const sent = { ...draft, payload };
      assert.equal(withoutIgnored(EventDraft, sent), sent);
      assert.equal(withoutIgnored(EventDraft, payload), payload);
    }),
    { seed: 20_260_103, numRuns: runs(2000) },
  );
});
