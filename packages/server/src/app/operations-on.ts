// The operations of a service, on the store that keeps its data.

import {
  asJson,
  EventDraft,
  operationNamed,
  PolicyTrial,
  SubscriptionConfiguration,
  type TenantId,
} from '@tallystick/contract';
import { createKeyOperations } from '../access/key-operations.ts';
import { createTenantOperations } from '../access/tenant-operations.ts';
import { deliveryCounts } from '../webhooks/delivery-figures.ts';
import { createDeadLetters, letterCounts } from '../admin/dead-letters.ts';
import { projectionsOf } from '../admin/projections.ts';
import { createRebuild } from '../admin/rebuild.ts';
import { createStatus, type StatusParts } from '../admin/status.ts';
import { readBuild } from '../config/build.ts';
import { createEvents, type EventParts, readingOf } from '../events/events.ts';
import { createPolicyImpact } from '../events/policy-impact.ts';
import { isPolicyInUse } from '../events/policy-use.ts';
import { createCursors } from '../gateway/cursors.ts';
import { createRules } from '../gateway/validate.ts';
import { messageFor } from '../gateway/violations.ts';
import { createViolationOperations } from '../alerts/violation-operations.ts';
import { createHoldOperations } from '../holds/hold-operations.ts';
import { createPolicyOperations } from '../policies/policy-operations.ts';
import { type ConfirmParts, createConfirm, operationOf } from '../redaction/confirm.ts';
import { createErase } from '../redaction/erase.ts';
import { createRedact } from '../redaction/redact.ts';
import { createRateOperations } from '../rates/rate-operations.ts';
import type { RateLimits } from '../rates/rate-limits.ts';
import { createRetentionOperations } from '../retention/preview.ts';
import { createStreams, type StreamsParts } from '../streams/streams.ts';
import { createDeliveryOperations } from '../webhooks/delivery-operations.ts';
import { recoveryOperation } from '../webhooks/recovery.ts';
import { createSubscriptionOperations } from '../webhooks/subscription-operations.ts';
import { createJudgeTls } from '../outbound/judge-tls.ts';
import { exportOperations } from './exports-on.ts';
import type { Store } from './store.ts';
import type { Surroundings } from './surroundings.ts';

export function operationsOn(store: Store, surroundings: Surroundings, rates: RateLimits | undefined) {
  const { clock, config } = surroundings;
  const { storage, workers, checkpointer, signing, steadyNowMs, witnessed, newestWitnessed } = store;
  const reading = {
    log: storage.log,
    work: storage.work,
    wakeVerification: () => workers.wake('Verification'),
    trees: storage.tree,
    checkpointer,
    signing,
    steadyNowMs,
    clock,
    nextId: surroundings.nextId,
    telemetry: surroundings.telemetry,
    cursors: createCursors({ keyOf: ({ fingerprintKey }) => fingerprintKey, clock }),
    witnessed,
    newestWitnessed,
    region: config.tenants.region,
  };
  return {
    events: {
      ...eventOperations(store, reading, surroundings),
      ...redactionOperations(store, reading, surroundings),
    },
    erasures: createErase({
      ...redactionParts(store, reading, surroundings),
      tenancy: store.tenancy,
      keys: store.storage.tenantKeys,
      random: surroundings.random,
    }),
    streams: createStreams(reading),
    apiKeys: keyOperations(store, reading, surroundings),
    tenants: tenantOperations(store, reading, surroundings),
    policies: policyOperations(store, reading, surroundings),
    holds: createHoldOperations({
      ...reading,
      holds: store.access.holds,
      tenancy: store.tenancy,
      change: store.access.change,
      wakeHoldCount: () => workers.wake('HoldCount'),
    }),
    subscriptions: subscriptionOperations(store, reading, surroundings),
    exports: exportOperations(store, reading.cursors, surroundings),
    violations: violationOperations(store, reading, surroundings),
    retention: createRetentionOperations({ ...reading, removal: store.storage.removal }),
    admin: adminOperations(store, reading, surroundings),
    rates: rateOperations(rates, store, surroundings),
  };
}

function violationOperations(
  { storage, values, sequencer }: Store,
  reading: Reading,
  surroundings: Surroundings,
) {
  const { nextId, random, clock, telemetry } = surroundings;
  const ids = { nextId, uuid: () => random.uuid() };
  const violations = values.opened(storage.violations);
  return createViolationOperations({ ...reading, violations, sequencer, clock, nextId, ids, telemetry });
}

type Reading = Omit<StreamsParts, 'clock'>;

function eventOperations(store: Store, reading: Reading, surroundings: Surroundings) {
  return createEvents(eventParts(store, reading, surroundings));
}

function eventParts(
  { storage, sequencer, tenancy, access }: Store,
  reading: Reading,
  { config, clock, random, nextId, telemetry, validate }: Surroundings,
): EventParts {
  const batch = operationNamed('events.ingestBatch');
  return {
    ...reading,
    index: storage.index,
    policies: access.policies,
    sequencer,
    tenancy,
    clock,
    telemetry,
    ids: { nextId, uuid: () => random.uuid() },
    fields: { violations: createRules(asJson(EventDraft)), message: messageFor },
    validateEnvelope: (received) => validate(batch, received),
    requireActorIdentity: config.events.requireActorIdentity,
  };
}

function redactionOperations(store: Store, reading: Reading, surroundings: Surroundings) {
  const parts = redactionParts(store, reading, surroundings);
  return { 'events.redact': createRedact(parts) };
}

function redactionParts(store: Store, reading: Reading, surroundings: Surroundings): ConfirmParts {
  const { storage, access, sequencer, workers } = store;
  const { clock, random, nextId, telemetry } = surroundings;
  return {
    ...readingOf(eventParts(store, reading, surroundings)),
    removal: storage.removal,
    removeFiles: store.exporting.removeFiles,
    forgetAnswers: store.webhooks.forgetAnswers,
    violations: storage.violations,
    change: access.change,
    tenants: access.tenants,
    erasures: access.erasures,
    pending: access.pendingRedactions,
    wake: () => workers.wake('Erasure'),
    sequencer,
    clock,
    nextId,
    uuid: () => random.uuid(),
    telemetry,
  };
}

function policyOperations(store: Store, reading: Reading, surroundings: Surroundings) {
  const { access, tenancy } = store;
  const { clock, nextId, telemetry } = surroundings;
  return createPolicyOperations({
    policies: access.policies,
    change: access.change,
    tenancy,
    isInUse: (call, policy) => isPolicyInUse(call, policy, { index: store.storage.index, clock }),
    schemaFaults: createRules(asJson(PolicyTrial)),
    measureImpact: createPolicyImpact(readingOf(eventParts(store, reading, surroundings))),
    cursors: reading.cursors,
    steadyNowMs: store.steadyNowMs,
    clock,
    nextId,
    telemetry,
  });
}

function subscriptionOperations(
  { access, storage, tenancy, webhooks, workers, steadyNowMs }: Store,
  { cursors }: Reading,
  { clock, nextId, random, telemetry, waysOut }: Surroundings,
) {
  const { subscriptions, change } = access;
  const common = { subscriptions, cursors, steadyNowMs, clock, nextId };
  return {
    ...createSubscriptionOperations({
      ...common,
      secrets: webhooks.secrets,
      circuits: webhooks.circuits,
      judgeUrl: (url) => waysOut.webhooks.judge(url),
      judgeAsWritten: (url) => waysOut.webhooks.judgeAsWritten(url),
      judgeTls: createJudgeTls(() => clock.now()),
      schemaFaults: createRules(asJson(SubscriptionConfiguration)),
      change,
      tenancy,
      random,
      telemetry,
      wakeGate: () => workers.wake('Gate'),
    }),
    ...createDeliveryOperations({
      ...common,
      work: storage.work,
      sender: webhooks.sender,
      wake: (kind) => workers.wake(kind),
    }),
  };
}

function adminOperations(store: Store, reading: Reading, surroundings: Surroundings) {
  const { storage, workers, steadyNowMs } = store;
  const { clock, nextId } = surroundings;
  const parts = { work: storage.work, clock, steadyNowMs };
  const redaction = redactionParts(store, reading, surroundings);
  return {
    ...createRebuild({
      ...parts,
      nextId,
      wake: () => workers.wake('Rebuild'),
      otherOperation: async (call, operationId) =>
        (await operationOf(call, operationId, redaction)) ??
        recoveryOperation(await storage.work.forTenant(call.tenant!).find(operationId)),
    }),
    'operations.confirm': createConfirm(redaction),
    ...createDeadLetters({ ...parts, nextId, cursors: reading.cursors, wake: (kind) => workers.wake(kind) }),
  };
}

/** Status and metrics, of all parts of the service. */
export function statusOn(
  store: Store,
  { config, clock, meter }: Surroundings,
  watching: Pick<StatusParts, 'health' | 'scrubber' | 'watches' | 'usage' | 'spans'>,
) {
  const { index, work } = store.storage;
  return createStatus({
    ...store,
    ...watching,
    clock,
    meter,
    projections: projectionsOf(index, store.indexFollower),
    deadLetters: letterCounts(work),
    deliveries: deliveryCounts(work),
    build: readBuild(),
    versionStates: config.apiVersions,
  });
}

function keyOperations(
  { access, keyUses, steadyNowMs }: Store,
  { cursors }: Reading,
  { clock }: Surroundings,
) {
  const { keyChanges: changes } = access;
  return createKeyOperations({ ...access, uses: keyUses, changes, cursors, clock, steadyNowMs });
}

function tenantOperations(
  { access, storage, steadyNowMs }: Store,
  { cursors }: Reading,
  { clock, telemetry }: Surroundings,
) {
  const hasLogged = async (tenantId: TenantId) => (await storage.log.forTenant(tenantId).streamCount()) > 0;
  return createTenantOperations({ access, hasLogged, cursors, clock, telemetry, steadyNowMs });
}

function rateOperations(
  rates: RateLimits | undefined,
  { access, storage, steadyNowMs }: Store,
  { clock, nextId }: Surroundings,
) {
  const { installation } = access;
  return createRateOperations({ rates, installation, work: storage.work, clock, nextId, steadyNowMs });
}
