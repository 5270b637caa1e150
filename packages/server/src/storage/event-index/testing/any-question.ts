// Events of few words and times, and questions of every shape about them, so that one often asks for the other.

import type { Role } from '@tallystick/contract';
import * as fc from 'fast-check';
import type { OrderStep, Question } from '../../../events/event-index.ts';
import { type AccessRule, type AccessRules, leastAllowed } from '../../../policies/access-rules.ts';
import { type IndexSight, indexSightOf } from '../../../policies/sight.ts';
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

const conditions: fc.Arbitrary<AccessRule['conditions']> = fc.constantFrom<AccessRule['conditions'][]>(
  {},
  { action: 'Delete.Invoice' },
  { action: 'delete.invoice' },
  { actions: ['Create.*'] },
  { 'actor.userId': 'u-1' },
  { 'actor.userId': { ne: 'u-1' } },
  { 'actor.userId': { startsWith: 'U' } },
  { 'actor.userName': { contains: 'acme' } },
  { 'actor.serviceId': { exists: false } },
  { 'actor.actorType': 'User', outcome: 'Denied' },
  { classification: ['Confidential', 'Secret'] },
  { 'resource.resourceId': 'INV-42' },
  { 'resource.resourceName': { exists: true } },
  { 'payload.note': { contains: 'refund' } },
  { 'payload.note': { ne: 'refund' } },
  { 'payload.list[*]': { gte: 5 } },
  { 'payload.list[0]': 10 },
  { 'payload.list': { exists: true } },
  { context: { exists: false } },
  { correlationId: '00000000-6a3e-4b51-9a0e-2f6b1f3c9d11' },
);
const effect: fc.Arbitrary<AccessRule['effect']> = fc
  .record({
    access: fc.constantFrom('Allow' as const, 'Allow' as const, 'Deny' as const),
    roles: fc.constantFrom<Role[][]>(['Viewer'], ['Auditor'], ['Viewer', 'Auditor']),
    maxClassification: fc.option(fc.constantFrom(...ALL_CLASSES), { nil: undefined }),
    redactFields: fc.subarray([
      'payload.note',
      'payload',
      'payload.list[*]',
      'payload.list[0]',
      'context.ip',
      'actor.userName',
      'actor.serviceName',
      'resource.resourceName',
    ]),
  })
  .map(({ maxClassification, ...others }) => ({
    ...others,
    ...(maxClassification !== undefined && { maxClassification }),
  }));
const ruled = (rules: readonly Pick<AccessRule, 'conditions' | 'effect'>[]) =>
  rules.map((rule, i) => ({
    policyId: `p${i}`,
    policyName: `p${i}`,
    policyVersion: 1,
    ruleId: `r${i}`,
    ...rule,
  }));
const NAMES = ['actor.userName', 'actor.serviceName', 'resource.resourceName'];
const withholdingNames = fc.record({ redactFields: fc.subarray(NAMES, { minLength: 1 }) });
const withClearance = (role: Role) =>
  fc.constantFrom(...ALL_CLASSES).map((clearance) => ({ role, clearance }));
/** Those that concern a reader: of Access policies, of Classification policies, or of both. */
const access: fc.Arbitrary<AccessRules> = fc
  .record({
    roles: fc
      .constantFrom<Role[][]>(['Viewer'], ['Viewer', 'Auditor'])
      .chain((roles) => fc.tuple(...roles.map(withClearance))),
    ceiling: fc.constantFrom('Secret' as const, ...ALL_CLASSES),
    rules: fc.array(fc.record({ conditions, effect }), { maxLength: 4 }).map(ruled),
    classifying: fc.array(fc.record({ conditions, effect: withholdingNames }), { maxLength: 2 }).map(ruled),
  })
  .filter(({ rules, classifying }) => rules.length + classifying.length > 0);

const byClearance: fc.Arbitrary<IndexSight> = fc.constantFrom(
  { visible: ALL_CLASSES, whole: ALL_CLASSES },
  { visible: ALL_CLASSES, whole: ALL_CLASSES.slice(0, 3) },
  { visible: ALL_CLASSES.slice(0, 3), whole: ALL_CLASSES.slice(0, 2) },
  { visible: ALL_CLASSES.slice(0, 3), whole: ALL_CLASSES.slice(0, 1) },
);
const sight: fc.Arbitrary<IndexSight> = fc.oneof(
  byClearance,
  access.map((rules) => ({
    ...indexSightOf(leastAllowed({ ...rules, rules: [] }, 'Public').clearance),
    access: rules,
  })),
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
  // Of none: in the order of the log.
  order: fc.array(step, { maxLength: 3 }),
});
