// Makes the next state of a subscription from a sound configuration: checks what depends on the caller or on the current state, and seals
// the secrets.

import { isDeepStrictEqual } from 'node:util';
import type { ErrorDetail, SubscriptionConfiguration, SubscriptionId } from '@tallystick/contract';
import type { Call } from '../call.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import { type CompleteConfiguration, completed, plainMembers } from './configured.ts';
import { splitHeaders } from './custom-headers.ts';
import { authored } from './subscription-author.ts';
import { type JudgeAsWritten, notAllowed } from './subscription-faults.ts';
import { type NextSubscription, requireSound } from './subscription-changes.ts';
import { makeSecret, type SubscriptionSecrets } from './subscription-secrets.ts';
import { type JudgeTls, wantedTls } from './subscription-tls.ts';
import { originOf, type SubscriptionBoxes, type SubscriptionRecord } from './subscription.ts';

export interface ConfigureParts {
  readonly secrets: SubscriptionSecrets;
  /** Why nothing may be sent to this URL, as a sentence; undefined: it may. */
  readonly judgeUrl: (url: string) => Promise<string | undefined>;
  /** The same by the URL alone, without a question to a name server. */
  readonly judgeAsWritten: JudgeAsWritten;
  readonly judgeTls: JudgeTls;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextId: () => string;
}

/** Asks name servers, so do it before taking the tenant's turn. */
export async function urlFaults(
  url: string,
  { judgeUrl }: Pick<ConfigureParts, 'judgeUrl'>,
): Promise<ErrorDetail[]> {
  const reason = await judgeUrl(url);
  return reason === undefined ? [] : [notAllowed(url, reason)];
}

/** A new subscription, with the secret that is shown this once. */
export async function newSubscription(
  call: Call,
  sent: SubscriptionConfiguration,
  foundFaults: readonly ErrorDetail[],
  parts: ConfigureParts,
): Promise<{ readonly subscription: NextSubscription; readonly secret: string }> {
  const wanted = completed(sent);
  const owner = { subscriptionId: parts.nextId() as SubscriptionId, tenantId: call.tenant! };
  const secret = wanted.secret ?? makeSecret(parts.random);
  const state = await configure(
    call,
    { ...wanted, secret },
    { owner, current: undefined },
    foundFaults,
    parts,
  );
  const made = { createdAtMs: parts.clock.now(), createdBy: call.caller!.name };
  const { active: isActive } = wanted;
  const noticeId = parts.nextId();
  const subscription = { ...owner, ...state, ...made, noticeId, isActive, isDeleted: false, round: 1 };
  return { subscription, secret };
}

/** Replaces everything that a caller may set, except `active`. */
export async function replacedSubscription(
  call: Call,
  sent: SubscriptionConfiguration,
  current: SubscriptionRecord,
  foundFaults: readonly ErrorDetail[],
  parts: ConfigureParts,
): Promise<NextSubscription> {
  const of = { owner: current, current };
  return { ...current, ...(await configure(call, completed(sent), of, foundFaults, parts)) };
}

interface Of {
  readonly owner: Pick<SubscriptionRecord, 'subscriptionId' | 'tenantId'>;
  readonly current: SubscriptionRecord | undefined;
}

async function configure(
  call: Call,
  wanted: CompleteConfiguration,
  { owner, current }: Of,
  foundFaults: readonly ErrorDetail[],
  { secrets, judgeTls }: ConfigureParts,
) {
  const known = current === undefined ? {} : await secrets.credentials(current);
  const {
    shown: headers,
    credentials,
    faults: headerFaults,
  } = splitHeaders(wanted.headers, known, current !== undefined && originOf(wanted) !== originOf(current));
  const tls = wantedTls(wanted.tls, current, judgeTls);
  const isNarrowed =
    tls.isChanged || (current !== undefined && !isDeepStrictEqual(wanted.filters, current.filters));
  const { author, clearance, faults } = authored(wanted, current, isNarrowed, call.caller!);
  requireSound([...foundFaults, ...headerFaults, ...tls.faults, ...faults]);

  const before: SubscriptionBoxes = current?.boxes ?? {};
  const seal = (purpose: 'secret' | 'headers' | 'clientKey', text: string) =>
    secrets.seal(purpose, text, owner);
  const isSameHeaders = JSON.stringify(credentials) === JSON.stringify(known);
  const hasCredentials = Object.keys(credentials).length > 0;
  const { secret: oldSecret, previousSecret, headers: oldHeaders, clientKey: oldKey } = before;
  const boxes: SubscriptionBoxes = {
    // A secret that is sent takes effect at once; only a rotation lets the old one sign, too.
    ...(wanted.secret === undefined
      ? { secret: oldSecret, previousSecret }
      : { secret: await seal('secret', wanted.secret) }),
    ...(hasCredentials && {
      headers: isSameHeaders ? oldHeaders : await seal('headers', JSON.stringify(credentials)),
    }),
    ...(tls.key !== undefined
      ? { clientKey: await seal('clientKey', tls.key) }
      : tls.isKeyKept && { clientKey: oldKey }),
  };
  return { ...plainMembers(wanted), headers, tls: tls.shown, author, clearance, boxes: definedIn(boxes) };
}

function definedIn(boxes: SubscriptionBoxes): SubscriptionBoxes {
  return Object.fromEntries(Object.entries(boxes).filter(([, box]) => box !== undefined));
}
