// The operations on webhook subscriptions, except those on deliveries. A secret is shown by the answer that made it, and not by a repeat.

import {
  type Answer,
  AuditError,
  type ErrorDetail,
  type InputOf,
  SECRET_GRACE_DEFAULT,
  type SubscriptionConfiguration,
  type SubscriptionId,
} from '@tallystick/contract';
import { parseJson } from '@tallystick/evidence';
import { foreignTenant } from '../access/foreign-tenant.ts';
import { type Call, type OwnViolation, type Received, receivedMember } from '../call.ts';
import type { Cursors } from '../paging.ts';
import { requireMatch } from '../records/if-match.ts';
import { instant } from '../runtime/clock.ts';
import { expiryAfter } from '../runtime/expiry.ts';
import type { UsedIdempotencyKey } from '../streams/log.ts';
import type { Circuits, Standing } from './circuits.ts';
import { type ConfigureParts, newSubscription, replacedSubscription, urlFaults } from './configure.ts';
import { patched } from './configured.ts';
import {
  type Answered,
  type Changed,
  requireSound,
  type SubscriptionChangeParts,
  SubscriptionChanges,
  unknownSubscription,
} from './subscription-changes.ts';
import { graceFaults, subscriptionFaults } from './subscription-faults.ts';
import { makeSecret } from './subscription-secrets.ts';
import { listSubscriptions, shownAnswer, standingNow, versionsNamed } from './subscription-views.ts';
import type { SubscriptionRecord } from './subscription.ts';

export interface SubscriptionOperationParts extends SubscriptionChangeParts, ConfigureParts {
  readonly circuits: Circuits;
  /** The rules of the schema of a configuration. */
  readonly schemaFaults: (value: unknown, at: string) => readonly ErrorDetail[];
  readonly cursors: Cursors;
}

export function createSubscriptionOperations(parts: SubscriptionOperationParts) {
  const changes = new SubscriptionChanges(parts);
  return {
    'subscriptions.list': (call: Call, input: InputOf<'subscriptions.list'>) =>
      listSubscriptions(call, input, parts),
    async 'subscriptions.get'(
      call: Call,
      { subscriptionId }: InputOf<'subscriptions.get'>,
    ): Promise<Answer<'subscriptions.get'>> {
      const found = await changes.found(call, subscriptionId);
      return { kind: 'Done', ...shownAnswer(found, await standingNow(found, parts)) };
    },
    async 'subscriptions.delete'(
      call: Call,
      { subscriptionId, ifMatch }: InputOf<'subscriptions.delete'>,
    ): Promise<Answer<'subscriptions.delete'>> {
      await changes.change(call, subscriptionId, matching(ifMatch), deleted);
      return { kind: 'Removed', body: undefined };
    },
    ...configuring(changes, parts),
    ...switching(changes, parts),
    'subscriptions.rotateSecret': rotating(changes, parts),
  };
}

function configuring(changes: SubscriptionChanges, parts: SubscriptionOperationParts) {
  return {
    'subscriptions.create': {
      async perform(
        call: Call,
        { subscription: sent }: InputOf<'subscriptions.create'>,
      ): Promise<Answer<'subscriptions.create'>> {
        const faults = await urlFaults(sent.url, parts);
        let secret = '';
        const { subscription: made, standing } = await changes.create(call, async () => {
          const next = await newSubscription(call, sent, faults, parts);
          ({ secret } = next);
          return next.subscription;
        });
        const { body, facts } = shownAnswer(made, standing);
        return { kind: 'Created', body: { ...body, secret }, facts };
      },
      rules: ({ subscription }: Received['input']) => violationsOf(subscription, parts),
      checkReach: requireOwnTenant,
      answerAgain: answerSubscriptionAgain(parts),
    },
    'subscriptions.replace': {
      async perform(
        call: Call,
        { subscriptionId, ifMatch, subscription: sent }: InputOf<'subscriptions.replace'>,
      ): Promise<Answer<'subscriptions.replace'>> {
        // Ask no name server for a subscription that does not exist.
        await changes.found(call, subscriptionId);
        const faults = await urlFaults(sent.url, parts);
        const { subscription, standing } = await changes.change(
          call,
          subscriptionId,
          matching(ifMatch),
          (current) => configured(call, sent, { current, faults, isActiveSaid: true }, parts),
        );
        return { kind: 'Done', ...shownAnswer(subscription, standing) };
      },
      rules: ({ subscription }: Received['input']) => violationsOf(subscription, parts),
      checkReach: requireOwnTenant,
      answerAgain: answerSubscriptionAgain(parts),
    },
    async 'subscriptions.update'(
      call: Call,
      { subscriptionId, ifMatch, patch }: InputOf<'subscriptions.update'>,
    ): Promise<Answer<'subscriptions.update'>> {
      await changes.found(call, subscriptionId);
      const faults = typeof patch.url === 'string' ? await urlFaults(patch.url, parts) : [];
      const next = await changes.change(call, subscriptionId, matching(ifMatch), (current) => {
        const sent = requireConfiguration(patched(current, patch), faults, parts);
        const wanted = patch.secret === undefined ? sent : { ...sent, secret: patch.secret };
        const isActiveSaid = patch.active !== undefined;
        return configured(call, wanted, { current, faults, isActiveSaid }, parts);
      });
      return { kind: 'Done', ...shownAnswer(next.subscription, next.standing) };
    },
  };
}

interface Configuring {
  readonly current: SubscriptionRecord;
  readonly faults: readonly ErrorDetail[];
  /** Whether the request says anything about `active`. */
  readonly isActiveSaid: boolean;
}

async function configured(
  call: Call,
  sent: SubscriptionConfiguration,
  { current, faults, isActiveSaid }: Configuring,
  parts: SubscriptionOperationParts,
): Promise<Changed> {
  const next = await replacedSubscription(call, sent, current, faults, parts);
  const { active = true } = sent;
  const switched = isActiveSaid ? ((await switchedTo(active, current, parts)) ?? {}) : {};
  return { subscription: { ...next, ...switched }, act: 'Updated' };
}

/** The patched whole, once it is known to be a valid configuration. */
function requireConfiguration(
  value: unknown,
  faults: readonly ErrorDetail[],
  { schemaFaults }: Pick<SubscriptionOperationParts, 'schemaFaults'>,
): SubscriptionConfiguration {
  const bySchema = schemaFaults(value, '');
  const said = new Set(bySchema.map(({ field }) => field));
  const own = subscriptionFaults(value).map(({ detail }) => detail);
  const more = [...own, ...faults].filter(({ field }) => !said.has(field));
  const isSound = bySchema.length + more.length === 0;
  if (!isSound) requireSound([...bySchema, ...more]);
  return value as SubscriptionConfiguration;
}

function switching(changes: SubscriptionChanges, parts: SubscriptionOperationParts) {
  const switchTo = async (call: Call, subscriptionId: SubscriptionId, active: boolean) => {
    const next = await changes.change(call, subscriptionId, matching(undefined), async (current) => {
      const switched = await switchedTo(active, current, parts);
      const act = active ? 'Resumed' : 'Paused';
      return switched && { subscription: { ...current, ...switched }, act };
    });
    return { kind: 'Done', ...shownAnswer(next.subscription, next.standing) } as const;
  };
  const answerAgain = answerSubscriptionAgain(parts);
  return {
    'subscriptions.pause': {
      perform: (call: Call, { subscriptionId }: InputOf<'subscriptions.pause'>) =>
        switchTo(call, subscriptionId, false),
      answerAgain,
    },
    'subscriptions.resume': {
      perform: (call: Call, { subscriptionId }: InputOf<'subscriptions.resume'>) =>
        switchTo(call, subscriptionId, true),
      answerAgain,
    },
  };
}

type Switched = Pick<SubscriptionRecord, 'isActive' | 'round'>;

/** Undefined if nothing changes. The circuit of a failed one stays as it is until a caller resumes it. */
async function switchedTo(
  active: boolean,
  current: SubscriptionRecord,
  parts: Pick<SubscriptionOperationParts, 'circuits'>,
): Promise<Switched | undefined> {
  const { status } = await standingNow(current, parts);
  const isThere = active ? current.isActive && status === 'Active' : !current.isActive;
  if (isThere) return undefined;
  const keepsRound = !active && status === 'Failed';
  return { isActive: active, round: keepsRound ? current.round : current.version + 1 };
}

function rotating(changes: SubscriptionChanges, parts: SubscriptionOperationParts) {
  return {
    async perform(
      call: Call,
      { subscriptionId, rotation }: InputOf<'subscriptions.rotateSecret'>,
    ): Promise<Answer<'subscriptions.rotateSecret'>> {
      const secret = makeSecret(parts.random);
      const next = await changes.change(call, subscriptionId, matching(undefined), async (current) => {
        const nowMs = parts.clock.now();
        const untilMs = expiryAfter(nowMs, rotation?.gracePeriod ?? SECRET_GRACE_DEFAULT);
        const { secret: old, previousSecret: _, ...others } = current.boxes;
        const box = await parts.secrets.seal('secret', secret, current);
        const previous = untilMs > nowMs && old !== undefined && { previousSecret: { box: old, untilMs } };
        const boxes = { ...others, secret: box, ...previous };
        return { subscription: { ...current, boxes }, act: 'SecretRotated' };
      });
      return { kind: 'Done', body: { ...rotated(next.subscription), secret } };
    },
    rules: ({ rotation }: Received['input']): OwnViolation[] =>
      graceFaults(rotation).map((detail) => ({ member: 'rotation', detail })),
    answerAgain: async (call: Call, _: Received, { note }: UsedIdempotencyKey) =>
      ({ kind: 'Repeated', body: rotated((await answerNoted(call, note, parts)).subscription) }) as const,
  };
}

function rotated({ subscriptionId, boxes, updatedAtMs }: SubscriptionRecord) {
  const untilMs = boxes.previousSecret?.untilMs ?? updatedAtMs;
  return { subscriptionId, previousSecretExpiresAt: instant(untilMs) };
}

/** Its earlier versions keep what it had. */
function deleted(current: SubscriptionRecord): Changed {
  const nothing = { url: '', filters: {}, headers: {}, tls: undefined, boxes: {} };
  return { subscription: { ...current, ...nothing, isActive: false, isDeleted: true }, act: 'Deleted' };
}

function matching(ifMatch: string | undefined): (version: number) => void {
  const named = ifMatch === undefined ? undefined : versionsNamed(ifMatch);
  return (version) => requireMatch(named, version);
}

function violationsOf(
  subscription: unknown,
  { judgeAsWritten }: Pick<SubscriptionOperationParts, 'judgeAsWritten'>,
): OwnViolation[] {
  const faults = subscriptionFaults(subscription, judgeAsWritten);
  return faults.map((fault) => ({ member: 'subscription', ...fault }));
}

/** A subscription that is sent back names its tenant. */
function requireOwnTenant(call: Call, { subscription }: Received['input']): void {
  const mismatch = foreignTenant(receivedMember(subscription, 'tenantId'), 'tenantId', call.tenant!);
  if (mismatch !== undefined) throw new AuditError(mismatch.code, mismatch.message, mismatch);
}

/** What the first answer showed. */
async function answerNoted(
  call: Call,
  note: string,
  parts: Pick<SubscriptionOperationParts, 'subscriptions' | 'circuits'>,
): Promise<Answered> {
  const [, subscriptionId = '', version, standing] = /^(\S*) (\d+)(?: (.*))?$/.exec(note) ?? [];
  const subscription = await parts.subscriptions.version(call.tenant!, subscriptionId, Number(version));
  if (subscription === undefined) throw unknownSubscription(subscriptionId);
  const then =
    standing === undefined ? await standingNow(subscription, parts) : (parseJson(standing) as Standing);
  return { subscription, standing: then };
}

function answerSubscriptionAgain(parts: SubscriptionOperationParts) {
  return async (call: Call, _: Received, { note }: UsedIdempotencyKey) => {
    const { subscription, standing } = await answerNoted(call, note, parts);
    return { kind: 'Repeated', ...shownAnswer(subscription, standing) } as const;
  };
}
