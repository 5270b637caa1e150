// Webhooks of a service: the follower that queues deliveries, the work that makes them, and what their operations need.

import type { HealthReport, TenantId } from '@tallystick/contract';
import type { Levels } from '../admin/levels.ts';
import { outcomeOfDelivery } from '../admin/work-figures.ts';
import type { Access } from '../access/access.ts';
import { publishedOf } from '../events/events.ts';
import { createFollower, type Follower } from '../followers/follower.ts';
import { createSecretBoxes } from '../keys/secret-box.ts';
import type { Membership } from '../nodes/membership.ts';
import { consumersOver } from '../outbound/consumer.ts';
import type { LateStorage } from '../storage/late-storage.ts';
import type { EventsRequest } from '../streams/log.ts';
import type { NewestWitnessed } from '../streams/witness/newest-witnessed.ts';
import { alertJobs } from '../webhooks/alert-jobs.ts';
import { forgetAnswers } from '../webhooks/answers.ts';
import type { AlertParts } from '../alerts/alert-follower.ts';
import type { SealedValues } from '../alerts/sealed-values.ts';
import type { Circuits } from '../webhooks/circuits.ts';
import { type ContentParts, Contents } from '../webhooks/contents.ts';
import { type DelivererParts, deliveryWork } from '../webhooks/deliverer.ts';
import type { ExportRecord } from '../exports/export.ts';
import { traceConsumers } from '../webhooks/traced-consumers.ts';
import { tellOfExport } from '../webhooks/export-jobs.ts';
import { gateWork } from '../webhooks/gate.ts';
import { KnownSubscriptions } from '../webhooks/known-subscriptions.ts';
import { circuitsOnLanes } from '../webhooks/lane-circuits.ts';
import { Notifier } from '../webhooks/notifier.ts';
import { Pace } from '../webhooks/pace.ts';
import { probeWork } from '../webhooks/probe.ts';
import { recoveryWork } from '../webhooks/recovery.ts';
import { Sender } from '../webhooks/sender.ts';
import { createSubscriptionSecrets, type SubscriptionSecrets } from '../webhooks/subscription-secrets.ts';
import { startLevelWatch } from '../webhooks/level-watch.ts';
import { nodeName } from './node-name.ts';
import { startStatusWatch } from '../webhooks/status-watch.ts';
import type { JobKind } from '../work/jobs.ts';
import type { KindOfWork } from '../work/workers.ts';
import type { Surroundings } from './surroundings.ts';

export interface Webhooks {
  readonly secrets: SubscriptionSecrets;
  readonly circuits: Circuits;
  readonly known: KnownSubscriptions;
  readonly sender: Sender;
  /** Turns the log into deliveries. */
  readonly notifier: Follower;
  readonly notify: AlertParts['notify'];
  readonly tellOfExport: (record: ExportRecord) => Promise<void>;
  readonly forgetAnswers: (tenant: TenantId) => Promise<void>;
  readonly kinds: readonly KindOfWork[];
  /** Measures the levels of service, and tells subscribers of misses. */
  readonly startLevelWatch: (levels: Levels, paceMs?: number) => AsyncDisposable;
  /** Tells subscribers when the state of the service changes. */
  readonly startStatusWatch: (report: () => Promise<HealthReport>) => AsyncDisposable;
}

export interface WebhooksParts {
  readonly storage: LateStorage;
  readonly access: Access;
  readonly values: SealedValues;
  readonly append: (request: EventsRequest) => Promise<unknown>;
  readonly newestWitnessed: NewestWitnessed;
  readonly membership: Membership;
  readonly wake: (kind: JobKind) => void;
  readonly isPressed: () => boolean;
  readonly exportTold: ContentParts['exportTold'];
}

export function webhooksOn(parts: WebhooksParts, surroundings: Surroundings): Webhooks {
  const { storage, access, values, append, newestWitnessed, membership, wake, isPressed, exportTold } = parts;
  const { clock, random, telemetry, tracing, nextId, waysOut, config, meter } = surroundings;
  const { work, log, records, follows, tree: trees } = storage;
  const violations = values.opened(storage.violations);
  const { tenants, subscriptions } = access;
  const { timeScale } = config.webhooks;
  const storeNowMs = async () => (await storage.removal.nowMs()) ?? clock.now();
  const wakeDeliverer = () => wake('Delivery');
  const known = new KnownSubscriptions({ subscriptions, records, clock });
  const circuits = circuitsOnLanes(work);
  const secrets = createSubscriptionSecrets(createSecretBoxes(storage.secretKeys, random));
  const direct = consumersOver(waysOut.webhooks);
  const consumers = tracing === undefined ? direct : traceConsumers(direct, tracing);
  const sender = new Sender({ consumers, secrets, clock });
  const ids = { nextId, uuid: () => random.uuid() };
  const common = {
    subscriptions: known,
    tenants,
    circuits,
    log,
    violations,
    work,
    clock,
    random,
    nextId,
    telemetry,
  };
  const contents = new Contents({
    ...common,
    exportTold,
    publishedOf: publishedOf({ trees, newestWitnessed }),
    sequencer: { append },
    ids,
  });
  const pace = new Pace({ clock, nodes: () => membership.nodes().length });
  const doing = { ...common, sender, timeScale, wakeDeliverer };
  const notifier = new Notifier({ ...common, follows, wake: wakeDeliverer });
  return {
    secrets,
    circuits,
    known,
    sender,
    notifier: createFollower({
      name: 'the notifier',
      work: notifier,
      clock,
      random,
      telemetry,
      tracing,
      isPressed,
    }),
    notify: (tenant, raised, events) => alertJobs(tenant, raised, events, common),
    tellOfExport: (record) => tellOfExport(record, { ...common, wake: wakeDeliverer }),
    forgetAnswers: (tenant) => forgetAnswers(tenant, work),
    kinds: [
      deliveryWork({ ...doing, contents, pace, onAttempt: attemptsNoted(meter) }),
      probeWork(doing),
      gateWork(doing),
      recoveryWork(doing),
    ],
    startLevelWatch: (levels, paceMs) =>
      startLevelWatch({ ...common, records, levels, paceMs, storeNowMs, wake: wakeDeliverer }),
    startStatusWatch: (report) =>
      startStatusWatch({ ...common, records, report, node: nodeName(config), wake: wakeDeliverer }),
  };
}

function attemptsNoted(meter: Surroundings['meter']): DelivererParts['onAttempt'] {
  return (tenant, { isDelivered, status, attempt: { fault, latencyMs } }) =>
    meter.attempted(tenant, outcomeOfDelivery({ isDelivered, status, fault }), latencyMs * 1e6);
}
