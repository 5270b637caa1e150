// The followers of the log: the index of events, the one that raises alerts, and the one that queues deliveries.

import { AlertFollower } from '../alerts/alert-follower.ts';
import { createSealedValues, type SealedValues } from '../alerts/sealed-values.ts';
import { createFollower, type Follower } from '../followers/follower.ts';
import { sealedOf } from '../keyring-place.ts';
import { createSecretBoxes } from '../keys/secret-box.ts';
import type { Surroundings } from './surroundings.ts';
import { type Webhooks, webhooksOn, type WebhooksParts } from './webhooks-on.ts';

export interface Followers {
  /** Keeps the index of events up to date with the log. */
  readonly indexFollower: Follower;
  /** Asks the rules of Alert policies about new events. */
  readonly alertFollower: Follower;
  readonly webhooks: Webhooks;
  /** Through which violations are read. */
  readonly values: SealedValues;
  /** All of them. */
  readonly followers: readonly Follower[];
}

/** `wakeFollowers`: the log has grown. */
export function followersOn(
  parts: Omit<WebhooksParts, 'values'>,
  surroundings: Surroundings,
): Followers & { readonly wakeFollowers: () => void } {
  const { storage, access, isPressed } = parts;
  const { index, log, records, follows, violations } = storage;
  const { policies, tenants } = access;
  const { clock, random, telemetry, tracing, nextId, config } = surroundings;
  const boxes = createSecretBoxes(storage.secretKeys, random);
  const values = createSealedValues(boxes, sealedOf(config.encryption.classifications));
  const webhooks = webhooksOn({ ...parts, values }, surroundings);
  const { notify, notifier } = webhooks;
  const common = { clock, random, telemetry, tracing, isPressed };
  const alerts = {
    log,
    records,
    follows,
    violations,
    values,
    policies,
    tenants,
    clock,
    nextId,
    telemetry,
    notify,
  };
  const indexFollower = createFollower({ name: 'the index of events', work: index, ...common });
  const alertFollower = createFollower({
    name: 'the follower for alerts',
    work: new AlertFollower(alerts),
    ...common,
  });
  const followers = [indexFollower, alertFollower, notifier];
  return {
    indexFollower,
    alertFollower,
    webhooks,
    values,
    followers,
    wakeFollowers() {
      for (const follower of followers) follower.wake();
    },
  };
}
