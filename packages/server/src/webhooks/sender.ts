// Makes one attempt: puts the notification together, signs it, posts it, and reports the result. Times and signatures are made anew for each
// attempt, since consumers refuse what is older than five minutes.

import { type DeliveryAttempt, LIMITS, type WebhookId, type WebhookType } from '@tallystick/contract';
import { canonicalJson } from '@tallystick/evidence';
import { type Clock, instant } from '../runtime/clock.ts';
import { REDACTED } from '../policies/sight.ts';
import { answerText } from './answers.ts';
import type { Consumers, PostResult } from './consumer.ts';
import { parseRetryAfter } from './retry-schedule.ts';
import { type Secrets, SIGNATURE, signatureHeaders, signedBody } from './signature.ts';
import type { OpenedSecrets, SubscriptionSecrets } from './subscription-secrets.ts';
import type { SubscriptionRecord } from './subscription.ts';

/** The content, by the member of the body that holds it, in RFC 8785 form. */
export type Content = Readonly<
  Partial<Record<'event' | 'export' | 'violation' | 'threshold' | 'system', string>>
>;

export interface Notice {
  readonly webhookId: WebhookId;
  readonly webhookType: WebhookType;
  readonly content: Content;
}

export interface Sent {
  readonly attempt: DeliveryAttempt;
  readonly isDelivered: boolean;
  /** It failed, and the consumer is not to blame. */
  readonly isOurs: boolean;
  /** Why it was not delivered. */
  readonly reason: string;
  readonly status: number | undefined;
  readonly retryAfterMs: number | undefined;
}

export interface SenderParts {
  readonly consumers: Consumers;
  readonly secrets: Pick<SubscriptionSecrets, 'open'>;
  readonly clock: Clock;
}

const DELIVERED: ReadonlySet<number> = new Set([200, 201, 202, 204]);
/** As in the body. A text of the event may look the same, and is masked as well. */
const OWN_SIGNATURE = /\bsha256=[0-9a-f]{64}\b/g;
const USER_AGENT = 'Tallystick-Webhooks/1';
/** An unchanged subscription is the same object, so its boxes are opened once. */
const OPENED_MAX = 10_000;

export class Sender {
  readonly #parts: SenderParts;
  #opened = new Map<SubscriptionRecord, Promise<OpenedSecrets>>();

  constructor(parts: SenderParts) {
    this.#parts = parts;
  }

  /** Rejects only if it is aborted, or a secret cannot be opened. */
  async send(
    subscription: SubscriptionRecord,
    notice: Notice,
    attemptNumber: number,
    signal: AbortSignal,
  ): Promise<Sent> {
    const { clock, consumers } = this.#parts;
    const opened = await this.#open(subscription);
    const atMs = clock.now();
    const secrets = secretsAt(opened, atMs);
    const making = { attemptNumber, atMs, at: instant(atMs), secrets };
    const body = Buffer.from(bodyOf(subscription, notice, making));
    const own = ownHeaders(notice, { ...making, body });
    const result = await consumers.post({
      tenant: subscription.tenantId,
      url: subscription.url,
      headers: { ...opened.headers, ...own },
      body,
      timeoutMs: subscription.timeoutSeconds * 1000,
      answerBytesMax: LIMITS.deliveryAnswerBytesMax,
      tls: tlsOf(subscription, opened),
      signal,
    });
    const headers = { ...subscription.headers, ...own };
    return sentBy(result, { ...making, headers, masked: () => secretsIn(opened, headers, body) });
  }

  #open(subscription: SubscriptionRecord): Promise<OpenedSecrets> {
    const known = this.#opened.get(subscription);
    if (known !== undefined) return known;
    if (this.#opened.size >= OPENED_MAX) this.#opened = new Map();
    const opening = this.#parts.secrets.open(subscription);
    this.#opened.set(subscription, opening);
    opening.catch(() => this.#opened.delete(subscription));
    return opening;
  }
}

function secretsAt({ secret, previousSecret }: OpenedSecrets, atMs: number): Secrets {
  return previousSecret !== undefined && previousSecret.untilMs > atMs
    ? [secret, previousSecret.secret]
    : [secret];
}

function tlsOf({ tls }: SubscriptionRecord, { clientKey: key }: OpenedSecrets) {
  return tls === undefined ? undefined : { ...tls, ...(key !== undefined && { key }) };
}

interface Making {
  readonly attemptNumber: number;
  readonly atMs: number;
  /** The same as a text. */
  readonly at: string;
  readonly secrets: Secrets;
}

function bodyOf(
  { subscriptionId, name }: SubscriptionRecord,
  { webhookId, webhookType, content }: Notice,
  { attemptNumber, at, secrets }: Making,
): string {
  const head = {
    webhookId,
    webhookType,
    timestamp: at,
    subscription: { subscriptionId, subscriptionName: name },
    attemptNumber,
  };
  const texts = Object.entries(head).map(([member, value]) => [member, canonicalJson(value)]);
  return signedBody({ ...Object.fromEntries(texts), ...content }, secrets);
}

function ownHeaders(
  { webhookId, webhookType }: Notice,
  { attemptNumber, atMs, at, body, secrets }: Making & { readonly body: Uint8Array },
): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    'User-Agent': USER_AGENT,
    'X-Audit-Webhook-Id': webhookId,
    'X-Audit-Webhook-Type': webhookType,
    'X-Audit-Timestamp': at,
    'X-Audit-Attempt': String(attemptNumber),
    ...signatureHeaders(webhookId, atMs, body, secrets),
  };
}

/** What no answer may show: secrets, credentials and signatures, also without a prefix such as `Bearer`. */
function secretsIn(
  { secret, previousSecret, headers: opened }: OpenedSecrets,
  headers: Readonly<Record<string, string>>,
  body: Buffer,
): string[] {
  const credentials = Object.keys(opened).flatMap((name) =>
    headers[name] === REDACTED ? [opened[name]!] : [],
  );
  const signatures = Object.entries(headers).flatMap(([name, value]) =>
    SIGNATURE.test(name) ? value.split(' ') : [],
  );
  const own = body.toString().match(OWN_SIGNATURE) ?? [];
  const whole = [secret, previousSecret?.secret ?? '', ...credentials, ...signatures, ...own];
  return whole.flatMap((each) => [each, each.replace(/^(\S+ |sha256=|v1,)/, '')]);
}

interface Made extends Omit<Making, 'secrets'> {
  /** With credentials masked. */
  readonly headers: Readonly<Record<string, string>>;
  /** What no answer may show. */
  readonly masked: () => readonly string[];
}

function sentBy(result: PostResult, { attemptNumber, atMs, at, headers, masked }: Made): Sent {
  const { latencyMs, dnsMs, connectMs, tlsMs, firstByteMs } = result;
  const timings = definedOf({ dnsMs, connectMs, tlsMs, firstByteMs });
  const made = { attemptNumber, at, latencyMs, timings, requestHeaders: headers };
  if ('fault' in result) {
    const { fault, message: reason, isOurs } = result;
    const attempt = { ...made, fault, error: reason };
    return { attempt, isDelivered: false, isOurs, reason, status: undefined, retryAfterMs: undefined };
  }
  const { status, retryAfter, body } = result;
  const isDelivered = DELIVERED.has(status);
  const reason = `the consumer answered ${status}`;
  return {
    attempt: {
      ...made,
      responseStatus: status,
      ...(body.length > 0 && { responseBody: answerText(body, masked()) }),
      ...(!isDelivered && { fault: 'Status', error: reason }),
    },
    isDelivered,
    isOurs: false,
    reason,
    status,
    retryAfterMs: status === 429 || status === 503 ? parseRetryAfter(retryAfter, atMs) : undefined,
  };
}

function definedOf(timings: Readonly<Record<string, number | undefined>>): Record<string, number> {
  const there = Object.entries(timings).filter((each): each is [string, number] => each[1] !== undefined);
  return Object.fromEntries(there.map(([phase, ms]) => [phase, Math.round(ms * 10) / 10]));
}
