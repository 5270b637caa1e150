// Seals the secrets of a subscription, and opens them for sending. Each is a box of its own, so a new version can take over what it does not
// change without opening it.

import type { SubscriptionId, TenantId } from '@tallystick/contract';
import { parseJson, toBase64 } from '@tallystick/evidence';
import type { SecretBoxes, SecretPlace } from '../keys/secret-box.ts';
import type { Random } from '../runtime/random.ts';
import type { Headers } from './custom-headers.ts';
import { SUBSCRIPTION_KIND, type SubscriptionRecord } from './subscription.ts';

const PURPOSES = {
  secret: 'signing secret',
  headers: 'credentials in headers',
  clientKey: 'client key',
} as const;

export type SecretPurpose = keyof typeof PURPOSES;

type Owner = Pick<SubscriptionRecord, 'subscriptionId' | 'tenantId'>;

/** What a delivery is made with. */
export interface OpenedSecrets {
  readonly secret: string;
  /** Signs, too, until then. */
  readonly previousSecret: { readonly secret: string; readonly untilMs: number } | undefined;
  /** All of the headers, with their values. */
  readonly headers: Headers;
  readonly clientKey: string | undefined;
}

export interface SubscriptionSecrets {
  seal(purpose: SecretPurpose, text: string, owner: Owner): Promise<string>;
  /** The credentials among the headers. Throws ClosedBox. */
  credentials(subscription: SubscriptionRecord): Promise<Headers>;
  /** Throws ClosedBox, also for a deleted subscription. */
  open(subscription: SubscriptionRecord): Promise<OpenedSecrets>;
}

const SECRET_BYTES = 32;

/** One that the service makes, in the form of Standard Webhooks. */
export function makeSecret(random: Random): string {
  return `whsec_${toBase64(random.bytes(SECRET_BYTES))}`;
}

export function createSubscriptionSecrets(boxes: SecretBoxes): SubscriptionSecrets {
  const open = (purpose: SecretPurpose, box: string, owner: Owner) =>
    boxes.open(box, placeOf(purpose, owner.tenantId, owner.subscriptionId));
  const credentials = async (subscription: SubscriptionRecord): Promise<Headers> => {
    const { headers } = subscription.boxes;
    return headers === undefined ? {} : (parseJson(await open('headers', headers, subscription)) as Headers);
  };
  return {
    seal: (purpose, text, { tenantId, subscriptionId }) =>
      boxes.seal(text, placeOf(purpose, tenantId, subscriptionId)),
    credentials,
    async open(subscription) {
      const { secret, previousSecret: previous, clientKey } = subscription.boxes;
      return {
        secret: await open('secret', secret ?? '', subscription),
        previousSecret: previous && {
          secret: await open('secret', previous.box, subscription),
          untilMs: previous.untilMs,
        },
        headers: { ...subscription.headers, ...(await credentials(subscription)) },
        clientKey: clientKey === undefined ? undefined : await open('clientKey', clientKey, subscription),
      };
    },
  };
}

function placeOf(purpose: SecretPurpose, tenant: TenantId, id: SubscriptionId): SecretPlace {
  return { tenant, kind: SUBSCRIPTION_KIND, id, purpose: PURPOSES[purpose] };
}
