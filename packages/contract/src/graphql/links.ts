// What GraphQL has beside the members of an answer: links from one resource to another, which are operations of their
// own, and the members that they take the place of. All of it came with the second version.

import type { OperationName } from '../operations.ts';
import type { Version } from '../schema.ts';

/** A field that is the answer of a reading operation, asked for with members of its parent. */
export interface GraphqlLink {
  readonly name: string;
  readonly type: string;
  readonly description: string;
  readonly operation: OperationName;
  /** Member of the operation's input → member of the parent. */
  readonly input: Readonly<Record<string, string>>;
}

const link = (
  name: string,
  type: string,
  operation: OperationName,
  member: string,
  description: string,
): GraphqlLink => ({ name, type, operation, input: { [member]: member }, description });

const policy = link('policy', 'Policy', 'policies.get', 'policyId', 'The policy as it is now.');
const event = link('event', 'StoredEvent', 'events.get', 'eventId', 'The event, as this reader may see it.');

export const LINKS: Readonly<Partial<Record<Version, Readonly<Record<string, readonly GraphqlLink[]>>>>> = {
  v2: {
    EventIntegrity: [link('stream', 'EventStream', 'streams.get', 'streamId', 'The stream that it is in.')],
    RelatedEntity: [event],
    EventRetention: [policy],
    RuleMatch: [policy],
    PolicyViolation: [event, policy],
    Delivery: [
      link('subscription', 'Subscription', 'subscriptions.get', 'subscriptionId', 'Whom it was owed to.'),
    ],
    ExportPlace: [link('schedule', 'Schedule', 'exportSchedules.get', 'scheduleId', 'The schedule.')],
    ScheduleRun: [link('export', 'Export', 'exports.get', 'exportId', 'The export that it is.')],
  },
};

/** `Type.field` → what to ask for instead. */
export const DEPRECATED: Readonly<Partial<Record<Version, Readonly<Record<string, string>>>>> = {
  v2: {
    'EventRetention.policyId': 'Use policy { policyId }.',
    'PolicyViolation.eventId': 'Use event.',
    'PolicyViolation.policyId': 'Use policy { policyId }.',
  },
};

/** Shapes of one thing, of which nobody knows beforehand which comes: an interface with the members of all of them. */
export const SHARED: readonly string[] = ['StoredEvent', 'StreamEvent'];

/** Types whose version `ifMatch` takes. */
export const ETAG_TYPES: readonly string[] = [
  'Policy',
  'Tenant',
  'Subscription',
  'NewSubscription',
  'Schedule',
];
