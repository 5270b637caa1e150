// The operations on deliveries: test, recover, list and redeliver.

import {
  type Answer,
  AuditError,
  type Delivery,
  type DeliveryAttempt,
  ERRORS,
  type InputOf,
  LIMITS,
  type Recovery,
  type SubscriptionId,
  type TestDelivery,
} from '@tallystick/contract';
import { isAtLeast } from '../access/roles.ts';
import type { Call } from '../call.ts';
import { type Cursors, isId, newestFirst, readPage } from '../paging.ts';
import { type Clock, instant, LATEST_MS } from '../runtime/clock.ts';
import { idempotencyNowMs, type IdempotencyTime } from '../streams/append/idempotency-key.ts';
import { acceptJob, jobOperation, keepAnswer } from '../work/job-keys.ts';
import type { Job, JobState, WorkStore } from '../work/jobs.ts';
import { answersIn, maySeeAnswers } from './answers.ts';
import { attemptsIn, keptAttempt } from './attempts.ts';
import { laneOf } from './lane-circuits.ts';
import { testNotice } from './probe.ts';
import { RECOVERY, type RecoveryTask } from './recovery.ts';
import type { Sender } from './sender.ts';
import { readerOf, type SubscriptionRecord } from './subscription.ts';
import { unknownSubscription } from './subscription-changes.ts';
import type { Subscriptions } from './subscriptions.ts';
import { DELIVERY, readTask } from './task.ts';

export interface DeliveryOperationParts extends IdempotencyTime {
  readonly subscriptions: Pick<Subscriptions, 'find'>;
  readonly work: Pick<WorkStore, 'forTenant'>;
  readonly sender: Sender;
  readonly cursors: Cursors;
  readonly clock: Clock;
  readonly nextId: () => string;
  readonly wake: (kind: Job['kind']) => void;
}

const STATES: Readonly<Record<Delivery['status'], readonly JobState[]>> = {
  Queued: ['Waiting', 'Held', 'Parked'],
  RetryScheduled: ['Later'],
  Acknowledged: ['Done'],
  DeadLettered: ['Dead'],
};
/** How many recoveries of a tenant may wait; each reads the log. */
const RECOVERIES_MAX = 10;

export function createDeliveryOperations(parts: DeliveryOperationParts) {
  return {
    'subscriptions.test': jobOperation((call, { subscriptionId }: InputOf<'subscriptions.test'>) =>
      test(call, subscriptionId, parts),
    ),
    'subscriptions.recover': jobOperation((call, input: InputOf<'subscriptions.recover'>) =>
      recover(call, input, parts),
    ),
    'deliveries.list': (call: Call, input: InputOf<'deliveries.list'>) => list(call, input, parts),
    'deliveries.redeliver': jobOperation((call, input: InputOf<'deliveries.redeliver'>) =>
      redeliver(call, input, parts),
    ),
  };
}

async function found(
  call: Call,
  subscriptionId: SubscriptionId,
  { subscriptions }: DeliveryOperationParts,
): Promise<SubscriptionRecord> {
  const subscription = await subscriptions.find(call.tenant!, subscriptionId);
  if (subscription === undefined || subscription.isDeleted) throw unknownSubscription(subscriptionId);
  return subscription;
}

async function test(call: Call, subscriptionId: SubscriptionId, parts: DeliveryOperationParts) {
  const subscription = await found(call, subscriptionId, parts);
  const notice = testNotice(subscription, testNameOf(call, parts), parts.clock);
  const { attempt, isDelivered } = await parts.sender.send(subscription, notice, 1, call.deadline.signal);
  const { webhookId } = notice;
  // Keep no more for a repeat than the history of a delivery holds, for the same reasons: attempts.ts.
  const kept: TestDelivery = { webhookId, delivered: isDelivered, attempt: keptAttempt(attempt) };
  const answer = await keepAnswer(call, kept, parts);
  if (answer.kind === 'Repeated') return { kind: 'Repeated', body: answer.body } as const;
  return { kind: 'Done', body: { ...kept, attempt: seenAttempt(call, subscription, attempt) } } as const;
}

/** Two nodes that are asked under one key at the same moment both send: under one id, so the consumer takes it for the repeat that it is. */
function testNameOf({ once, tenantRecord }: Call, parts: DeliveryOperationParts): string {
  if (once === undefined || tenantRecord === undefined) return parts.nextId();
  const window = Math.floor(idempotencyNowMs(parts) / LIMITS.idempotencyWindowMs);
  return [window, Buffer.from(once.fingerprint(tenantRecord)).toString('hex'), once.key].join(' ');
}

async function recover(
  call: Call,
  { subscriptionId, recovery: { since } }: InputOf<'subscriptions.recover'>,
  parts: DeliveryOperationParts,
) {
  await found(call, subscriptionId, parts);
  const jobId = parts.nextId();
  const sinceMs = Date.parse(since);
  const task: RecoveryTask = {
    subscriptionId,
    sinceMs,
    requestedBy: call.caller!.name,
    requestedAtMs: parts.clock.now(),
  };
  const job = { jobId, kind: RECOVERY, lane: subscriptionId, body: JSON.stringify(task) } as const;
  const body: Recovery = { operationId: jobId, subscriptionId, since: instant(sinceMs) };
  return acceptJob(
    call,
    body,
    parts,
    (once) => parts.work.forTenant(call.tenant!).enqueue({ ...job, once }, { waitingMax: RECOVERIES_MAX }),
    ({ status }) => {
      if (status !== 'Enqueued')
        throw new AuditError(
          'SERVICE_UNAVAILABLE',
          `${RECOVERIES_MAX} recoveries of this tenant are waiting already; try again when one has ended.`,
          { retryAfterSeconds: 60 },
        );
      parts.wake(RECOVERY);
    },
  );
}

async function list(
  call: Call,
  input: InputOf<'deliveries.list'>,
  parts: DeliveryOperationParts,
): Promise<Answer<'deliveries.list'>> {
  const read = readPage(parts.cursors, call, input, isId);
  const subscription = await found(call, input.subscriptionId, parts);
  const jobs = parts.work.forTenant(call.tenant!);
  const states = input.status?.flatMap((status) => STATES[status]);
  const of = { ...laneOf(input.subscriptionId), states };
  const rows = await jobs.jobsOfLane({ ...of, ...newestFirst(read) });
  const plain = (job: Job) => shown(subscription, job);
  const answered = (job: Job) => withAnswers(plain(job), job);
  const { data, pagination } = read.page(rows, ({ jobId }) => jobId, await jobs.jobCountOfLane(of));
  return { kind: 'Done', body: { data: data.map(maySeeAnswers(call) ? answered : plain), pagination } };
}

async function redeliver(
  call: Call,
  { subscriptionId, webhookId }: InputOf<'deliveries.redeliver'>,
  parts: DeliveryOperationParts,
) {
  const subscription = await found(call, subscriptionId, parts);
  const jobs = parts.work.forTenant(call.tenant!);
  const job = await jobs.findUnique(DELIVERY, webhookId);
  if (job?.lane !== subscriptionId) throw unknownDelivery();
  const { nextAttemptAt: _, ...delivery } = shown(subscription, job);
  const body: Delivery = { ...delivery, status: 'Queued', attemptNumber: 0 };
  return acceptJob(
    call,
    body,
    parts,
    // One that is being sent right now is sent again: what comes of the attempt under way does not count.
    (once) => jobs.doAgain(job.jobId, once),
    ({ status }) => {
      if (status === 'Unknown') throw unknownDelivery();
      parts.wake(DELIVERY);
    },
  );
}

function unknownDelivery(): AuditError {
  return new AuditError('DELIVERY_NOT_FOUND', ERRORS.DELIVERY_NOT_FOUND.meaning);
}

/** Without answers, since this is also kept for repeats of a request. */
function shown(subscription: SubscriptionRecord, job: Job): Delivery {
  const { webhookId, webhookType } = readTask(job.body);
  const status = (Object.keys(STATES) as Delivery['status'][]).find((each) =>
    STATES[each].includes(job.state),
  )!;
  const isQueued = status === 'Queued' || status === 'RetryScheduled';
  const isDue = job.state === 'Later' || job.state === 'Waiting';
  // The claim under way counts, and has no result yet.
  const attemptNumber = job.state === 'Held' ? job.attempts - 1 : job.attempts;
  return {
    webhookId,
    subscriptionId: subscription.subscriptionId,
    webhookType,
    status,
    attemptNumber: Math.max(0, attemptNumber),
    ...(isQueued && isDue && { nextAttemptAt: instant(Math.min(job.wakeAtMs, LATEST_MS)) }),
    attempts: [...attemptsIn(job.progress)],
  };
}

function withAnswers(delivery: Delivery, { heard }: Job): Delivery {
  const answers = answersIn(heard);
  const attempts = delivery.attempts.map((attempt) => {
    const responseBody = answers[attempt.at];
    return responseBody === undefined ? attempt : { ...attempt, responseBody };
  });
  return { ...delivery, attempts };
}

/** The consumer's answer to a test may be about earlier deliveries, so only callers who may see those see it. */
function seenAttempt(
  call: Call,
  subscription: SubscriptionRecord,
  { responseBody, ...attempt }: DeliveryAttempt,
): DeliveryAttempt {
  const mayRead = isAtLeast(call.caller!.clearance, readerOf(subscription).clearance);
  return { ...attempt, ...(mayRead && responseBody !== undefined && { responseBody }) };
}
