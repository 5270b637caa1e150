// Makes the golden vectors of webhook deliveries: requests as they arrive, each with the secrets of its subscription. They are signed here
// by the words of the specification, with nothing of the service, so that the service can be held against them.

import { createHmac } from 'node:crypto';
import { canonicalJson } from '@tallystick/evidence';

type Files = Map<string, string>;
type Headers = Readonly<Record<string, string>>;

const AT = '2026-01-02T03:04:05.678Z';
const SECONDS = '1767323045';
/** As the service makes them: `whsec_` and 32 bytes in base64. */
const MADE = 'whsec_AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=';
const MADE_BEFORE = 'whsec_/////////////////////////////////////////78=';
const OF_ONES_OWN = 'correct horse battery staple';
const NOT_BASE64 = 'whsec_correct-horse';
/** Behind it is nothing: an empty key would let anybody sign. */
const PREFIX_ALONE = 'whsec_';

const EVENT = {
  webhookId: '0f6a2d3c-5b1e-5c55-9d6e-0a1b2c3d4e5f',
  webhookType: 'event.notification',
  timestamp: AT,
  subscription: { subscriptionId: '01KE00000000000000000000SB', subscriptionName: 'SIEM' },
  attemptNumber: 1,
  event: {
    eventId: '01KE0000000000000000000001',
    tenantId: 'acme',
    timestamp: '2026-01-02T03:04:04.000Z',
    receivedAt: '2026-01-02T03:04:04.123Z',
    actor: { actorType: 'User', userId: 'u-42', userName: 'Zoë' },
    action: 'Delete.Invoice',
    resource: { resourceType: 'Invoice', resourceId: 'INV-42' },
    classification: 'Internal',
    context: { ip: '203.0.113.7' },
    // What implementations of RFC 8785 get wrong: the order of names, numbers, escapes.
    payload: { '€': 1250.5, '\u{1f600}': 1e21, '\r': 'line\u2028"end"\\', a: [null, true, 1e-7, -0] },
  },
};
const TEST = {
  ...EVENT,
  webhookId: 'a3c1b8de-7f40-5a11-8c3e-112233445566',
  webhookType: 'system.event',
  event: undefined,
  system: {
    kind: 'Test',
    component: 'webhooks',
    previousStatus: 'Healthy',
    status: 'Healthy',
    occurredAt: AT,
  },
};

/** File path under vectors/ → its text. */
export function makeDeliveries(): Files {
  const files: Files = new Map();
  const add = (path: string, secrets: readonly string[], headers: Headers, body: string) => {
    files.set(`webhooks/${path}.http`, requestOf(headers, body));
    files.set(`webhooks/${path}.secrets`, `${secrets.join('\n')}\n`);
  };
  const valid = (name: string, notification: Notification, secrets: readonly string[]) => {
    const body = bodyOf(notification, secrets);
    add(`valid/${name}`, secrets, headersOf(notification, body, secrets), body);
  };
  valid('secret-of-the-service', EVENT, [MADE]);
  valid('secret-of-ones-own', EVENT, [OF_ONES_OWN]);
  valid('secret-that-is-no-base64', EVENT, [NOT_BASE64]);
  valid('secret-that-is-a-prefix-alone', EVENT, [PREFIX_ALONE]);
  valid('two-secrets-in-the-grace-period', EVENT, [MADE, MADE_BEFORE]);
  valid('from-ones-own-secret-to-the-services', EVENT, [MADE, OF_ONES_OWN]);
  valid('test-delivery', TEST, [MADE]);
  addSins((name, headers, body) => add(`invalid/${name}`, [MADE], headers, body));
  return files;
}

/** Each is refused with its secret at the time of the others. */
function addSins(add: (name: string, headers: Headers, body: string) => void): void {
  const body = bodyOf(EVENT, [MADE]);
  const headers = headersOf(EVENT, body, [MADE]);
  const { 'webhook-signature': _, 'X-Audit-Signature': __, ...unsigned } = headers;
  add('body-altered', headers, body.replace('INV-42', 'INV-43'));
  add('body-spelled-anew', headers, JSON.stringify(JSON.parse(body), undefined, 2));
  add('signed-with-another-secret', headersOf(EVENT, body, [MADE_BEFORE]), body);
  add('signature-missing', unsigned, body);
  add('signature-cut', { ...headers, ...cut(headers) }, body);
  add('id-of-another-delivery', { ...headers, 'webhook-id': TEST.webhookId }, body);
  add('time-moved', { ...headers, 'webhook-timestamp': String(Number(SECONDS) + 60) }, body);
  const old = { ...EVENT, timestamp: '2026-01-02T02:59:04.000Z' };
  const oldBody = bodyOf(old, [MADE]);
  add('older-than-five-minutes', headersOf(old, oldBody, [MADE], '1767322744'), oldBody);
}

type Notification = typeof EVENT | typeof TEST;

function bodyOf(notification: Notification, [secret = '']: readonly string[]): string {
  const unsigned = JSON.parse(JSON.stringify(notification)) as object;
  return canonicalJson({ ...unsigned, signature: hexSignature(canonicalJson(unsigned), secret) });
}

function headersOf(
  { webhookId, webhookType, timestamp }: Notification,
  body: string,
  secrets: readonly string[],
  seconds = SECONDS,
): Headers {
  const [newest = '', previous] = secrets;
  const standard = secrets.map((secret) => {
    const key = /^whsec_[A-Za-z0-9+/]+={0,2}$/.test(secret)
      ? Buffer.from(secret.slice(6), 'base64')
      : Buffer.from(secret);
    return `v1,${createHmac('sha256', key).update(`${webhookId}.${seconds}.${body}`).digest('base64')}`;
  });
  return {
    'Content-Type': 'application/json',
    'User-Agent': 'Tallystick-Webhooks/1',
    'X-Audit-Webhook-Id': webhookId,
    'X-Audit-Webhook-Type': webhookType,
    'X-Audit-Timestamp': timestamp,
    'X-Audit-Attempt': '1',
    'X-Audit-Signature': hexSignature(body, newest),
    ...(previous !== undefined && { 'X-Audit-Signature-Previous': hexSignature(body, previous) }),
    'webhook-id': webhookId,
    'webhook-timestamp': seconds,
    'webhook-signature': standard.join(' '),
  };
}

function hexSignature(text: string, secret: string): string {
  return `sha256=${createHmac('sha256', secret).update(text).digest('hex')}`;
}

/** A comparison that stops at the shorter one takes them for equal. */
function cut(headers: Headers): Headers {
  const names = ['X-Audit-Signature', 'webhook-signature'];
  return Object.fromEntries(names.map((name) => [name, headers[name]!.slice(0, 20)]));
}

/** As in HTTP/1.1, but for the line ends: the body begins behind the first empty line and goes to the end of the file. */
function requestOf(headers: Headers, body: string): string {
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\n`);
  return `POST /hook HTTP/1.1\n${lines.join('')}\n${body}`;
}
