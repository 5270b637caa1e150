import assert from 'node:assert/strict';
import { test } from 'node:test';
import {
  asJson,
  AuditError,
  EventDraft,
  type OperationName,
  operationNamed,
  operationsIn,
  placeOf,
  VERSIONS,
} from '@tallystick/contract';
import { EVENT, EVENT_ID } from '../testing/bound-operations.ts';
import { processorMs } from '../testing/processor-time.ts';
import { createRules, createValidate } from './validate.ts';

const validate = createValidate();

function run(
  name: OperationName,
  input: Record<string, unknown>,
  violations: { field: string; issue: string }[] = [],
  unlisted = 0,
) {
  const operation = operationNamed(name);
  return validate(operation, {
    input: structuredClone(input),
    violations,
    unlisted,
    text: undefined,
    fingerprinted: undefined,
    placeOf: (member) => placeOf(operation, member),
  });
}

function refusal(
  name: OperationName,
  input: Record<string, unknown>,
  violations?: { field: string; issue: string }[],
  unlisted?: number,
) {
  try {
    run(name, input, violations, unlisted);
  } catch (error) {
    assert.ok(error instanceof AuditError, String(error));
    return { code: error.code, message: error.message, details: error.details };
  }
  return assert.fail('accepted');
}

test('the schema of every operation of every version can be validated with', () => {
  for (const version of VERSIONS) {
    for (const operation of operationsIn(version)) {
      const received = {
        input: {},
        violations: [],
        unlisted: 0,
        text: undefined,
        fingerprinted: undefined,
        placeOf: (member: string) => placeOf(operation, member),
      };
      try {
        validate(operation, received);
      } catch (error) {
        assert.ok(error instanceof AuditError, `${operation.name}: ${String(error)}`);
      }
    }
  }
});

test('a sound input comes through, with defaults and without what is ignored', () => {
  assert.deepEqual(run('events.ingest', { event: { ...EVENT, context: null } }), {
    event: { ...EVENT, outcome: 'Success' },
  });
  assert.deepEqual(run('events.list', {}), { limit: 100, sort: ['-timestamp'] });
});

test('every violation of a body is listed with its full path, its issue and its value', () => {
  const { code, details } = refusal('events.ingest', {
    event: {
      ...EVENT,
      actor: { actorType: 'Robot', 'odd name': 1 },
      action: 5,
      resource: { resourceType: '' },
    },
  });
  assert.equal(code, 'VALIDATION_FAILED');
  const sorted = details.toSorted((a, b) => (a.field < b.field ? -1 : 1));
  assert.deepEqual(sorted, [
    {
      field: 'action',
      issue: 'must be letters (A to Z, a to z), a dot, letters, like Delete.Invoice; it is a number',
      value: 5,
    },
    { field: 'actor.actorType', issue: 'must be one of User, Service, System', value: 'Robot' },
    {
      field: 'actor["odd name"]',
      issue: 'is not a known field; known are actorType, userId, userName, serviceId, serviceName',
    },
    { field: 'resource.resourceId', issue: 'is required: text of 1 to 512 characters' },
    { field: 'resource.resourceType', issue: 'must be 1 to 512 characters; it has 0', value: '' },
  ]);
});

test('a path through a list names the item', () => {
  const policy = {
    name: 'p',
    policyType: 'Retention',
    rules: [{ name: 'a', effect: { retentionPeriod: 'P7Y' } }, 5],
  };
  const { details } = refusal('policies.create', { policy });
  assert.ok(
    details.some(({ field }) => field === 'rules[1]'),
    JSON.stringify(details),
  );
});

test('rules of JSON itself are listed along, and are enough to refuse', () => {
  const duplicate = { field: 'payload.a', issue: 'occurs twice' };
  assert.deepEqual(refusal('events.ingest', { event: EVENT }, [duplicate]).details, [duplicate]);
  const both = refusal('events.ingest', { event: { ...EVENT, action: 5 } }, [duplicate]);
  assert.deepEqual(
    both.details.map(({ field }) => field),
    ['payload.a', 'action'],
  );
});

test('the code follows from where the member travelled', () => {
  assert.equal(refusal('events.list', { limit: 0 }).code, 'INVALID_PARAMETER');
  assert.equal(refusal('events.list', { limit: '7x' }).code, 'INVALID_PARAMETER');
  assert.equal(refusal('events.list', { sort: ['color'] }).code, 'INVALID_SORT');
  assert.equal(refusal('events.list', { cursor: '' }).code, 'CURSOR_INVALID');
  assert.equal(refusal('events.get', { eventId: 'x' }).code, 'EVENT_NOT_FOUND');
  assert.equal(refusal('events.ingestBatch', { batch: { events: [] } }).code, 'BATCH_SIZE_INVALID');
  assert.equal(refusal('events.search', { search: { pagination: { limit: 0 } } }).code, 'VALIDATION_FAILED');
});

test('a batch of the wrong size is not understood; one of the wrong form breaks a rule', () => {
  const size = (batch: unknown) => refusal('events.ingestBatch', { batch }).code;
  assert.equal(size({ events: [] }), 'BATCH_SIZE_INVALID');
  assert.equal(size({ events: Array.from({ length: 1001 }, () => 0) }), 'BATCH_SIZE_INVALID');
  for (const events of ['x', null, {}, 5]) assert.equal(size({ events }), 'VALIDATION_FAILED');
  assert.equal(size({}), 'VALIDATION_FAILED');
  const both = refusal('events.ingestBatch', { batch: { atomic: true, events: [] } });
  assert.equal(both.code, 'BATCH_SIZE_INVALID', 'what is not understood wins');
  assert.deepEqual(
    both.details.map(({ field }) => field),
    ['events', 'atomic'],
    'and everything is listed, the reason first',
  );
  const search = { query: 5, pagination: { cursor: '' } };
  assert.equal(refusal('events.search', { search }).code, 'CURSOR_INVALID');
});

test('defaults stand only where they belong', () => {
  const rules = [{ effect: { retentionPeriod: 'P7Y' } }];
  const policy = { name: 'p', policyType: 'Retention', active: false, rules };
  assert.deepEqual(run('policies.create', { policy }), {
    policy: { ...policy, priority: 100, rules: [{ enabled: true, effect: { retentionPeriod: 'P7Y' } }] },
  });
  const settings = { tier: 'Premium' };
  assert.deepEqual(run('tenants.replace', { tenantId: 'acme', settings }), { tenantId: 'acme', settings });
  const made = run('tenants.create', { tenant: { tenantId: 'acme' } }) as { tenant: { status: string } };
  assert.equal(made.tenant.status, 'Active');
});

test('a malformed If-Match is a malformed header', () => {
  const policyId = EVENT_ID;
  for (const ifMatch of ['*', '"3"', 'W/"3"', '"1", "2"', '"1",W/"2"', '""', '"1", ,"2",']) {
    assert.ok(run('policies.delete', { policyId, ifMatch }), ifMatch);
  }
  for (const ifMatch of ['', '3', '"3', '*, "3"', '"1" "2"', 'w/"3"', '"a b"', ',']) {
    assert.equal(refusal('policies.delete', { policyId, ifMatch }).code, 'INVALID_HEADER', ifMatch);
  }
});

test('what could not be understood comes before a broken rule, and that before what is not there', () => {
  const redaction = { fields: [], reason: 5 };
  assert.equal(refusal('events.redact', { eventId: 'x', redaction }).code, 'VALIDATION_FAILED');
  assert.equal(
    refusal('events.redact', { eventId: 'x', redaction: { fields: ['payload.a'], reason: 'r' } }).code,
    'EVENT_NOT_FOUND',
  );
  assert.equal(
    refusal('events.list', { limit: 0, sort: ['color'] }).code,
    'INVALID_PARAMETER',
    'two codes of one place',
  );
});

test('a secret is never shown', () => {
  const subscription = {
    name: 's',
    url: 'https://a.example',
    eventTypes: ['AuditEventReceived'],
    secret: `hunter2${'x'.repeat(300)}`,
  };
  const shown = JSON.stringify(refusal('subscriptions.create', { subscription }));
  assert.match(shown, /"field":"secret"/);
  assert.doesNotMatch(shown, /hunter2/);
  const misspelt = { ...subscription, secret: undefined, secrett: 'hunter2' };
  assert.doesNotMatch(JSON.stringify(refusal('subscriptions.create', { subscription: misspelt })), /hunter2/);
});

test('the message names the field, and says when there are more', () => {
  assert.equal(
    refusal('events.list', { limit: 0 }).message,
    'limit must be a whole number from 1 to 1000; it is 0.',
  );
  assert.match(
    refusal('events.ingest', { event: {} }).message,
    /^4 violations; the first: \w+ is required: a/,
  );
  assert.equal(
    refusal('events.ingest', { event: EVENT.action }).message,
    'The body must be an object with timestamp, actor, action, resource; it is text.',
  );
  assert.ok(run('events.get', { eventId: EVENT_ID }));
});

test('the rules of one schema name what is broken below its place, and change nothing', () => {
  const rules = createRules(asJson(EventDraft));
  const event = structuredClone(EVENT);
  assert.deepEqual(rules(event, 'events[3]'), []);
  assert.deepEqual(event, EVENT, 'no default is filled in');
  const fields = (value: unknown, at: string) => rules(value, at).map(({ field }) => field);
  assert.deepEqual(fields({ ...EVENT, action: 5 }, 'events[3]'), ['events[3].action']);
  assert.deepEqual(fields({ ...EVENT, 'odd name': 5 }, 'events[3]'), ['events[3]["odd name"]']);
  assert.deepEqual(fields(5, 'events[3]'), ['events[3]']);
  assert.deepEqual(fields({ ...EVENT, action: 5 }, ''), ['action']);
});

test('a value is cut where it is taken down, so that no answer shows it whole', () => {
  const [detail] = createRules(asJson(EventDraft))({ ...EVENT, action: 'x'.repeat(5000) }, '');
  assert.equal(String(detail?.value).length, 200);
});

test('a body with a hundred thousand unknown members is refused in a moment', async () => {
  const crowd = Object.fromEntries(Array.from({ length: 100_000 }, (_, i) => [`k${i}`, 0]));
  const ms = await processorMs(() =>
    assert.equal(refusal('policies.create', { policy: crowd }).code, 'VALIDATION_FAILED'),
  );
  assert.ok(ms < 5000, 'each is looked up, not searched for');
});

test('the message counts the broken rules of JSON that are not listed', () => {
  const listed = [{ field: 'key.name', issue: 'is a duplicate key' }];
  const { message, details } = refusal('apiKeys.create', { key: { roles: ['Viewer'] } }, listed, 7);
  assert.equal(details.length, 2);
  assert.equal(message, '9 violations; the first: key.name is a duplicate key.');
});
