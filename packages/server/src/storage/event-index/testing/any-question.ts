// Events of few words and times, and questions of every shape about them, so that one often asks for the other.

import * as fc from 'fast-check';
import type { OrderStep, Question } from '../../../events/event-index.ts';
import type { IndexSight } from '../../../policies/sight.ts';
import { EVERYTHING } from '../../../query/query.ts';
import { parseQuery } from '../../../query/query-parser.ts';
import { anyEvent, anyQuery } from '../../../query/testing/any-query.ts';
import { ALL_CLASSES, type Said } from './plain-definition.ts';

const WRITTEN = [
  'refund',
  'ana',
  '"a b"',
  're*',
  'action:Delete.*',
  'actor:ana',
  'actor:u-1',
  'actor:"ana acme"',
  'resource:m*',
  'payload.note:refund',
  'payload.list:10',
  'payload.note:*',
  'context:true',
  'payload:null',
  '-refund',
  'NOT payload.note:*',
  'outcome:success',
  'classification:conf*',
  'kind:event',
  'userName:acme',
  'actor.serviceId:*',
  'timestamp:>=2026-01-02',
  'timestamp:2026-01-02',
  'timestamp:<2026-01-02',
  'timestamp:>2026-01-02T03:04:05.123Z',
  'receivedAt:2026-06-01',
  '-receivedAt:>2026-06-01',
  'refund OR -ana',
  'payload.list:>5 -action:create.*',
  'eventId:01*',
  'submittedBy:key*',
  'correlationId:7d3f0c52*',
].map((text) => parseQuery(text).query!);

const timestamps = fc.constantFrom(
  '2026-01-02T03:04:05.123456789Z',
  '2026-01-02T03:04:05.123Z',
  '2026-01-02T03:59:59.999999999Z',
  '2026-02-28T23:59:59.999Z',
  '2026-03-01T00:00:00.000Z',
  '2024-02-29T12:00:00.5Z',
  '1999-12-31T23:00:00.000Z',
  '1969-07-20T20:17:40.000Z',
);
export const said: fc.Arbitrary<Said> = fc
  .record({
    event: anyEvent,
    timestamp: timestamps,
    action: fc.constantFrom('Delete.Invoice', 'Create.Invoice', 'Create.User', 'Delete'),
    userId: fc.constantFrom('u-1', 'U-1', 'u-2', undefined),
    serviceName: fc.constantFrom('Ana Service', undefined),
    outcome: fc.constantFrom('Success' as const, 'Denied' as const),
    isNotice: fc.boolean(),
    correlation: fc.constantFrom('AsIs' as const, 'Capitals' as const, 'Other' as const),
  })
  .map(({ event, timestamp, action, userId, serviceName, outcome, isNotice, correlation }) => ({
    timestamp,
    action,
    outcome,
    kind: isNotice ? 'Notice' : 'Event',
    actor: {
      actorType: userId === undefined ? 'Service' : 'User',
      ...(userId === undefined ? {} : { userId, userName: `${userId} of acme` }),
      ...(serviceName === undefined ? {} : { serviceName }),
    },
    resource: event.resource,
    correlationId: correlationOf(event.correlationId, correlation),
    classification: event.classification,
    submittedBy: event.submittedBy,
    context: event.context ?? {},
    payload: event.payload ?? {},
  }));

function correlationOf(id: string, how: 'AsIs' | 'Capitals' | 'Other'): string {
  if (how === 'Other') return '00000000-6a3e-4b51-9a0e-2f6b1f3c9d11';
  return how === 'Capitals' ? id.toUpperCase() : id;
}

const sight: fc.Arbitrary<IndexSight> = fc.constantFrom(
  { visible: ALL_CLASSES, whole: ALL_CLASSES },
  { visible: ALL_CLASSES, whole: ALL_CLASSES.slice(0, 3) },
  { visible: ALL_CLASSES.slice(0, 3), whole: ALL_CLASSES.slice(0, 2) },
  { visible: ALL_CLASSES.slice(0, 3), whole: ALL_CLASSES.slice(0, 1) },
);
const step: fc.Arbitrary<OrderStep> = fc.record({
  field: fc.constantFrom('timestamp' as const, 'eventId' as const, 'action' as const),
  isDescending: fc.boolean(),
});
const some = <T>(values: readonly T[]) => fc.subarray([...values]);
const filters: fc.Arbitrary<Question['filters']> = fc.record(
  {
    actions: some(['Delete.*', 'Create.User', 'delete.*']),
    actorIds: some(['u-1', 'u-*', 'U-1']),
    actorTypes: some(['User', 'Service'] as const),
    outcomes: some(['Denied', 'Failure'] as const),
    classifications: some(ALL_CLASSES),
    kinds: some(['Event', 'Notice'] as const),
    resourceIds: some(['INV-*', 'inv-42']),
    correlationIds: some(['7d3f0c52-6a3e-4b51-9a0e-2f6b1f3c9d11', '7D3F0C52-6a3e-4b51-9a0e-2f6b1f3c9d11']),
    timeRange: fc.record({ from: timestamps, to: timestamps }, { requiredKeys: [] }),
  },
  { requiredKeys: [] },
);
/** Everything that can be asked, by every reader. */
export const question = fc.record({
  query: fc.oneof(anyQuery, fc.constantFrom(...WRITTEN), fc.constant(EVERYTHING)),
  filters: fc.oneof(fc.constant({}), filters),
  sight,
  order: fc.array(step, { minLength: 1, maxLength: 3 }),
});
