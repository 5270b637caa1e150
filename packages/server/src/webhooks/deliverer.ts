// Delivers: takes a delivery that is due, reads its content, sends it, and decides what comes next. A failed attempt is retried later, and
// after ten the delivery is a dead letter. What an attempt says about the consumer is saved with its outcome, so all nodes count the
// consumer's failures together.

import { LIMITS, type TenantId } from '@tallystick/contract';
import { type Clock, wait } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Job, JobOutcome } from '../work/jobs.ts';
import type { LaneNews } from '../work/lanes.ts';
import type { KindOfWork } from '../work/workers.ts';
import { heardWith } from './answers.ts';
import { withAttempt } from './attempts.ts';
import { type Contents, type Told, UnreadableTenant } from './contents.ts';
import type { KnownSubscriptions } from './known-subscriptions.ts';
import { failed, failedForGood, laneOf, noteOf } from './lane-circuits.ts';
import { type Pace, TURN_MS_MAX, WINDOW_MAX, WINDOW_MIN } from './pace.ts';
import { retryDelayMs } from './retry-schedule.ts';
import type { Sender, Sent } from './sender.ts';
import { originOf, type SubscriptionRecord } from './subscription.ts';
import { DELIVERY, readTask, type Task } from './task.ts';

export interface DelivererParts {
  readonly subscriptions: KnownSubscriptions;
  readonly contents: Contents;
  readonly sender: Sender;
  readonly pace: Pace;
  readonly clock: Clock;
  readonly random: Pick<Random, 'fraction'>;
  readonly nextId: () => string;
  /** Multiplies the times between attempts, for tests. */
  readonly timeScale: number;
  readonly telemetry: Pick<Telemetry, 'warn' | 'error'>;
  /** Called with each attempt. */
  readonly onAttempt: (tenant: TenantId, sent: Sent) => void;
}

/** Deliveries under way in this process, and of one tenant in all. */
const AT_ONCE = 512;
const PER_TENANT = 256;
/** Longer than an attempt and the wait for its turn may take together. */
export const DELIVERY_LEASE_MS = 90_000;
/** After a failure that is not the consumer's, which does not count as an attempt. */
const OURS_REST_MS = 5000;
/** If the proxy fails, every delivery has the same to say. */
const OURS_TOLD_EVERY_MS = 60_000;
const GONE = 410;
const CLIENT_ERROR_MIN = 400;
const SERVER_ERROR_MIN = 500;
/** Before trying again to read subscriptions that could not be read. */
const UNREADABLE_MS = 5000;
/** How long an attempt that failed waits to learn whether its subscription was paused or resumed meanwhile. */
const AWAY_MS_MAX = 30_000;
const AWAY_REST_MS = 500;
const NOT_MADE = 'what it tells could not be read; the diagnostics say why';
const WAITED_TOO_LONG = 'it has waited for longer than a paused subscription keeps its deliveries';

export function deliveryWork(parts: DelivererParts): KindOfWork {
  const { pace, timeScale } = parts;
  const keptMs = LIMITS.deadLetterLifetimeMs * timeScale;
  const working: WorkingParts = { ...parts, tellOfOurs: tellerOfOurs(parts) };
  return {
    kind: DELIVERY,
    atOnce: AT_ONCE,
    perLane: WINDOW_MAX,
    leaseMs: DELIVERY_LEASE_MS,
    attemptsMax: LIMITS.deliveryAttemptsMax,
    parking: { waitMs: keptMs, letterMs: keptMs, reason: WAITED_TOO_LONG },
    limits: () => ({ perTenant: PER_TENANT, laneLimits: pace.limits(), otherLanesMax: WINDOW_MIN }),
    handle: (job, { signal }) => deliver(job, signal, working),
  };
}

interface WorkingParts extends DelivererParts {
  readonly tellOfOurs: (why: string) => void;
}

function tellerOfOurs({ clock, telemetry }: DelivererParts): WorkingParts['tellOfOurs'] {
  let toldNs = -Infinity;
  return (why) => {
    const nowNs = clock.monotonicNs();
    if (nowNs - toldNs < OURS_TOLD_EVERY_MS * 1e6) return;
    toldNs = nowNs;
    telemetry.warn('deliveries wait, and no consumer is to blame', { why });
  };
}

async function deliver(job: Job, signal: AbortSignal, parts: WorkingParts): Promise<JobOutcome> {
  const { tenant, lane } = job;
  let subscription: SubscriptionRecord | undefined;
  try {
    subscription = await subscriptionOf(job, parts);
  } catch (error) {
    // A record of the tenant was altered, perhaps this one.
    return waitForRecords(tenant, error, parts);
  }
  // It was deleted.
  if (subscription === undefined) return { status: 'Done' };
  if (!subscription.isActive) return { status: 'PutOff', lanes: [pausedLane(subscription)] };
  const turnMs = parts.pace.turnMs(tenant, lane, originOf(subscription));
  // The delivery waits in the queue instead.
  if (turnMs > TURN_MS_MAX) return putOff(subscription, turnMs);
  return deliverIn(turnMs, job, subscription, signal, parts);
}

/** Nothing is sent until they are put right, and no attempt is used up. */
function waitForRecords(tenant: TenantId, error: unknown, { telemetry }: DelivererParts): JobOutcome {
  const reason = String(error);
  telemetry.warn('deliveries of a tenant wait: its records cannot be read', { tenant, reason });
  return { status: 'PutOff', forMs: UNREADABLE_MS };
}

/** An unknown one may have been made on another node a moment ago. */
async function subscriptionOf(
  { tenant, lane }: Job,
  { subscriptions }: DelivererParts,
): Promise<SubscriptionRecord | undefined> {
  const known = (await subscriptions.of(tenant)).get(lane);
  return known ?? (await subscriptions.latest(tenant)).get(lane);
}

async function deliverIn(
  turnMs: number,
  job: Job,
  subscription: SubscriptionRecord,
  signal: AbortSignal,
  parts: WorkingParts,
): Promise<JobOutcome> {
  const { contents, pace, clock, telemetry } = parts;
  const { tenant, lane, jobId } = job;
  let isGood = false;
  pace.begin(tenant, lane);
  try {
    if (turnMs > 0) await wait(clock, Math.ceil(turnMs), signal);
    signal.throwIfAborted();
    const task = readTask(job.body);
    const told = await contents.of(task.source, subscription, jobId);
    // Undefined: it is gone, or the subscription may not see it any more.
    const outcome: JobOutcome =
      told === undefined
        ? { status: 'Done' }
        : await attempt(job, { task, told }, subscription, signal, parts);
    isGood = outcome.status === 'Done';
    return outcome;
  } catch (error) {
    if (signal.aborted) throw error;
    if (error instanceof UnreadableTenant) return waitForRecords(tenant, error, parts);
    telemetry.error('a delivery could not be made', error, { tenant, jobId });
    // Show no details: many who see the reason may not read the content.
    throw new Error(NOT_MADE, { cause: error });
  } finally {
    pace.end(tenant, lane, isGood);
  }
}

async function attempt(
  job: Job,
  { task, told }: { readonly task: Task; readonly told: Told },
  subscription: SubscriptionRecord,
  signal: AbortSignal,
  parts: WorkingParts,
): Promise<JobOutcome> {
  const attemptNumber = Math.min(job.attempts, LIMITS.deliveryAttemptsMax);
  const notice = { ...task, content: told.content };
  const sent = await parts.sender.send(subscription, notice, attemptNumber, signal);
  if (sent.isOurs) {
    parts.tellOfOurs(sent.reason);
    return { status: 'PutOff', lanes: [restOf(subscription, OURS_REST_MS * parts.timeScale)] };
  }
  parts.onAttempt(job.tenant, sent);
  const history = {
    progress: withAttempt(job.progress, sent.attempt),
    heard: await heardWith(job.heard, sent.attempt, told),
  };
  const keepMs = LIMITS.deadLetterLifetimeMs * parts.timeScale;
  const { subscriptionId } = subscription;
  // Not scaled: a recovery would send again what it does not find.
  if (sent.isDelivered)
    return {
      status: 'Done',
      keepMs: LIMITS.deadLetterLifetimeMs,
      ...history,
      lanes: [{ ...laneOf(subscriptionId), status: 'Works' }],
    };
  const news = await newsOf(sent, subscription, signal, parts);
  const { reason } = sent;
  if (isLast(sent, attemptNumber, subscription))
    return { status: 'Dead', reason, keepMs, ...history, lanes: news };
  const delayMs = retryDelayMs(attemptNumber + 1, sent.retryAfterMs, {
    ...subscription,
    timeScale: parts.timeScale,
    chance: parts.random.fraction(),
  });
  if (!subscription.ordered) return { status: 'Failed', reason, againInMs: delayMs, ...history, lanes: news };
  return {
    status: 'Failed',
    reason,
    againInMs: 0,
    ...history,
    lanes: [restOf(subscription, delayMs), ...news],
  };
}

function isLast(
  { status = 0 }: Sent,
  attemptNumber: number,
  { retryClientErrors }: SubscriptionRecord,
): boolean {
  const isClientError = status >= CLIENT_ERROR_MIN && status < SERVER_ERROR_MIN;
  return (
    attemptNumber >= LIMITS.deliveryAttemptsMax || status === GONE || (isClientError && !retryClientErrors)
  );
}

/** An attempt that a pause or a resumption has overtaken says nothing about the consumer. */
async function newsOf(
  { status }: Sent,
  subscription: SubscriptionRecord,
  signal: AbortSignal,
  parts: DelivererParts,
): Promise<LaneNews[]> {
  if ((await currentRound(subscription, signal, parts)) !== subscription.round) return [];
  return [status === GONE ? failedForGood(subscription) : failed(subscription, parts)];
}

/** Undefined: it is deleted, or cannot be read. A database that is away for a moment must not cost the attempt its place in the history. */
async function currentRound(
  { tenantId, subscriptionId }: SubscriptionRecord,
  signal: AbortSignal,
  { subscriptions, clock }: DelivererParts,
): Promise<number | undefined> {
  const untilNs = clock.monotonicNs() + AWAY_MS_MAX * 1e6;
  for (;;) {
    try {
      return (await subscriptions.latest(tenantId)).get(subscriptionId)?.round;
    } catch {
      if (signal.aborted || clock.monotonicNs() >= untilNs) return undefined;
      await wait(clock, AWAY_REST_MS, signal);
    }
  }
}

function pausedLane({ subscriptionId, round }: SubscriptionRecord): LaneNews {
  return {
    ...laneOf(subscriptionId),
    status: 'Closes',
    note: noteOf({ round, state: 'Paused' }),
    ifOpen: true,
  };
}

/** If the order counts, no other delivery may overtake it. */
function putOff(subscription: SubscriptionRecord, forMs: number): JobOutcome {
  return subscription.ordered
    ? { status: 'PutOff', lanes: [restOf(subscription, forMs)] }
    : { status: 'PutOff', forMs: Math.ceil(forMs) };
}

function restOf({ subscriptionId }: SubscriptionRecord, forMs: number): LaneNews {
  return { ...laneOf(subscriptionId), status: 'Rests', forMs: Math.ceil(forMs) };
}
