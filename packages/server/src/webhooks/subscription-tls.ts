// The certificates of a subscription. The private key is never shown, so callers who send back what they have read send no key; it is kept
// as long as the certificate stays the same.

import type { ErrorDetail, SubscriptionTls } from '@tallystick/contract';
import type { SubscriptionRecord } from './subscription.ts';

/** What is wrong with certificates or a key, in PEM; `tls.key` and the like are the fields. */
export type JudgeTls = (tls: SubscriptionTls) => readonly ErrorDetail[];

export interface WantedTls {
  /** As it is shown; undefined: there is nothing. */
  readonly shown: SubscriptionRecord['tls'];
  /** One that was sent; undefined: none. */
  readonly key: string | undefined;
  readonly isKeyKept: boolean;
  readonly isChanged: boolean;
  readonly faults: readonly ErrorDetail[];
}

type Current = Pick<SubscriptionRecord, 'tls' | 'boxes'>;

export function wantedTls(
  wanted: SubscriptionTls | undefined,
  current: Current | undefined,
  judge: JudgeTls,
): WantedTls {
  const sent: SubscriptionTls = wanted ?? {};
  const { ca, certificate, key } = sent;
  const hadKey = current?.boxes.clientKey !== undefined;
  const isKeyKept =
    hadKey && key === undefined && certificate !== undefined && certificate === current.tls?.certificate;
  const shown =
    ca === undefined && certificate === undefined
      ? undefined
      : { ...(ca !== undefined && { ca }), ...(certificate !== undefined && { certificate }) };
  const isChanged = key !== undefined || ca !== current?.tls?.ca || certificate !== current?.tls?.certificate;
  const faults = isChanged ? faultsOf(sent, isKeyKept, judge) : [];
  return { shown, key, isKeyKept, isChanged, faults };
}

function faultsOf(tls: SubscriptionTls, isKeyKept: boolean, judge: JudgeTls): readonly ErrorDetail[] {
  const { ca, certificate, key } = tls;
  if (certificate === undefined && key !== undefined)
    return [{ field: 'tls.certificate', issue: 'must be given with a key' }];
  if (certificate !== undefined && key === undefined && !isKeyKept)
    return [{ field: 'tls.key', issue: 'must be given with a new certificate' }];
  // A pair that stays was judged before.
  const judged = { ...(ca !== undefined && { ca }), ...(!isKeyKept && { certificate, key }) };
  return judge(definedIn(judged));
}

function definedIn(tls: Record<string, string | undefined>): SubscriptionTls {
  return Object.fromEntries(Object.entries(tls).filter(([, value]) => value !== undefined));
}
