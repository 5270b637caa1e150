// The followers of the log: the index of events, the one that raises alerts, and the one that queues deliveries.

import { AlertFollower } from '../alerts/alert-follower.ts';
import { createFollower, type Follower } from '../followers/follower.ts';
import type { Surroundings } from './surroundings.ts';
import { type Webhooks, webhooksOn, type WebhooksParts } from './webhooks-on.ts';

export interface Followers {
  /** Keeps the index of events up to date with the log. */
  readonly indexFollower: Follower;
  readonly webhooks: Webhooks;
  /** All of them. */
  readonly followers: readonly Follower[];
}

/** `wakeFollowers`: the log has grown. */
export function followersOn(
  parts: WebhooksParts,
  surroundings: Surroundings,
): Followers & { readonly wakeFollowers: () => void } {
  const { storage, access, isPressed } = parts;
  const { index, log, records, follows, violations } = storage;
  const { policies, tenants } = access;
  const { clock, random, telemetry, nextId } = surroundings;
  const webhooks = webhooksOn(parts, surroundings);
  const { notify, notifier } = webhooks;
  const common = { clock, random, telemetry, isPressed };
  const alerts = { log, records, follows, violations, policies, tenants, clock, nextId, telemetry, notify };
  const indexFollower = createFollower({ name: 'the index of events', work: index, ...common });
  // Asks the rules of Alert policies about new events.
  const alertFollower = createFollower({
    name: 'the follower for alerts',
    work: new AlertFollower(alerts),
    ...common,
  });
  const followers = [indexFollower, alertFollower, notifier];
  return {
    indexFollower,
    webhooks,
    followers,
    wakeFollowers() {
      for (const follower of followers) follower.wake();
    },
  };
}
