import { test } from 'node:test';
import { assertFinds } from './testing/assert-finds.ts';
import { shownEvent } from './testing/shown-event.ts';

test('identifiers, types and choices are compared as a whole, without regard to case and diacritics', () => {
  assertFinds(
    shownEvent({ resource: { resourceType: 'Café', resourceId: 'Tür 4/b' } }),
    ['action:delete.INVOICE', 'action:Delete.*', 'action:del*', 'action:"Delete.Inv"*', 'resourceType:CAFE'],
    ['action:Delete', 'action:Invoice', 'action:"Delete Invoice"', 'action:elete*'],
  );
  assertFinds(
    shownEvent({ resource: { resourceType: 'Café', resourceId: 'Tür 4/b' } }),
    [
      'resourceId:"tur 4/B"',
      'resourceId:"tür 4"*',
      'resource.resourceType:ca*',
      'outcome:success',
      'outcome:s*',
    ],
    ['resourceId:tur', 'resourceId:"tur 4 b"', 'outcome:Failure', '-classification:internal', 'kind:Notice'],
  );
  assertFinds(
    shownEvent(),
    [
      'actorType:User',
      'userId:U-1',
      'correlationId:7D3F0C52-6a3e-4b51-9a0e-2f6b1f3c9d11',
      'eventId:01ke0000000000000000000042',
      'streamId:01KE00000000000000000000S1',
      'submittedBy:key:01KE*',
      'kind:event',
      'classification:(Public OR Internal)',
    ],
    ['userId:u', 'serviceId:u-1', 'eventId:01KE', 'submittedBy:01KE00000000000000000000K1'],
  );
});

test('names are found by their words; actor and resource by identifier or name', () => {
  assertFinds(
    shownEvent(),
    [
      'userName:ana',
      'userName:"ana acme"',
      'userName:te*',
      'resourceName:muller',
      'resource.resourceName:"für M"*',
    ],
    ['userName:acm', 'serviceName:ana', 'resourceName:INV-42'],
  );
  assertFinds(
    shownEvent(),
    [
      'actor:u-1',
      'actor:U-*',
      'actor:ana@acme.test',
      'actor:acme',
      'resource:INV-42',
      'resource:invoice',
      'resource:rech*',
    ],
    // Not the words of an identifier, and not the type of the actor.
    ['actor:u', 'actor:1', 'actor:user', 'resource:42', 'resource:delete', 'actor:"--"'],
  );
  const service = shownEvent({
    actor: { actorType: 'Service', serviceId: 'svc-9', serviceName: 'Billing job' },
  });
  assertFinds(
    service,
    ['actor:svc-9', 'actor:billing', 'serviceName:job', 'actor:*'],
    ['actor:u-1', 'userId:*'],
  );
});

test('times are compared to the last digit, and a day is all of it', () => {
  assertFinds(
    shownEvent(),
    [
      'timestamp:2026-01-02',
      'timestamp:>=2026-01-02',
      'timestamp:<=2026-01-02',
      'timestamp:>2026-01-01',
      'timestamp:<2026-01-03',
      'timestamp:2026-01-02T03:04:05.123456789Z',
      'timestamp:2026-01-02T05:04:05.123456789+02:00',
      'timestamp:>2026-01-02T03:04:05.123456788Z',
      'timestamp:<2026-01-02T03:04:05.12345679Z',
      'receivedAt:2026-01-02T03:04:06Z',
      'receivedAt:<=2026-01-02T03:04:06.000000000Z',
      'timestamp:*',
    ],
    [
      'timestamp:2026-01-01',
      'timestamp:>2026-01-02',
      'timestamp:<2026-01-02',
      'timestamp:2026-01-02T03:04:05Z',
      'timestamp:<2026-01-02T03:04:05.123456789Z',
      'receivedAt:>2026-01-02T03:04:06Z',
    ],
  );
  const last = shownEvent({ timestamp: '9999-12-31T23:59:59.999999999Z' });
  assertFinds(last, ['timestamp:9999-12-31', 'timestamp:<=9999-12-31'], ['timestamp:>9999-12-31']);
});

test('a path finds texts by words, numbers by value, and what is true, false or null', () => {
  assertFinds(
    shownEvent(),
    [
      'payload.note:refund',
      'payload.note:"asked for"',
      'payload.note:refu*',
      'payload.amount:1000.5',
      'payload.amount:1000.50',
      'payload.amount:1.0005e3',
      'payload.amount:"1000.5"',
      'payload.amount:100*',
      'payload.paid:true',
      'payload.paid:TRUE',
      'payload.approvedBy:null',
      'payload."due date":2026-02-01',
      'context.agent.name:browser',
    ],
    [
      'payload.note:urgent',
      'context.note:refund',
      'payload.Note:refund',
      'payload.amount:1000',
      'payload.amount:5',
      'payload.paid:false',
      'payload.paid:1',
      'payload.approvedBy:nu*',
      'payload.note:null',
      'context.agent:browser',
    ],
  );
});

test('numbers are compared, and texts of digits are not', () => {
  assertFinds(
    shownEvent({ payload: { amount: 1000.5, code: '1000', list: [1, 20] } }),
    [
      'payload.amount:>1000',
      'payload.amount:>=1000.5',
      'payload.amount:<1e4',
      'payload.amount:<=1000.5',
      'payload.amount:>-1',
      'payload.list:>19',
      'payload.list:(>19 <2)',
      'payload.code:1000',
    ],
    [
      'payload.amount:>1000.5',
      'payload.amount:<1000.5',
      'payload.code:>1',
      'payload.list:>20',
      'payload.none:<5',
    ],
  );
});

test('a path goes through lists', () => {
  assertFinds(
    shownEvent(),
    [
      'payload.tags:urgent',
      'payload.tags:finance',
      'payload.tags[1]:finance',
      'payload.tags[*]:finance',
      'payload.lines.sku:b-2',
      'payload.lines[*].sku:b-2',
      'payload.lines[1].sku:b-2',
      'payload.lines.quantity:>29',
    ],
    ['payload.tags[0]:finance', 'payload.lines[0].sku:b-2', 'payload.lines:b-2', 'payload.tags.urgent:*'],
  );
});

test('context and payload alone are all that is below them', () => {
  assertFinds(
    shownEvent(),
    ['payload:refund', 'payload:b-2', 'payload:30', 'payload:urg*', 'context:browser', 'payload:null'],
    ['context:refund', 'payload:browser', 'payload:1000', 'payload:sku'],
  );
});

test('field:* asks whether there is anything, be it null or empty', () => {
  assertFinds(
    shownEvent(),
    [
      'payload.note:*',
      'payload.approvedBy:*',
      'payload.empty:*',
      'payload.lines:*',
      'payload.lines[1]:*',
      'payload:*',
    ],
    ['payload.none:*', 'payload.lines[2]:*', 'payload.note.x:*', 'payload.empty.x:*', 'serviceId:*'],
  );
  const bare = shownEvent({ payload: { list: [] } });
  delete bare.context;
  assertFinds(bare, ['payload.list:*', 'resourceName:*'], ['payload.list[*]:*', 'context:*']);
});
