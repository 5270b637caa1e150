// The followers of the log: the index of events, and the one that raises alerts.

import type { Access } from '../access/access.ts';
import { AlertFollower } from '../alerts/alert-follower.ts';
import { createFollower, type Follower } from '../followers/follower.ts';
import type { LateStorage } from '../storage/late-storage.ts';
import type { Surroundings } from './surroundings.ts';

export interface Followers {
  /** Keeps the index of events up to date with the log. */
  readonly indexFollower: Follower;
  /** Asks the rules of Alert policies about new events. */
  readonly alertFollower: Follower;
}

export function followersOn(
  { index, log, records, follows, violations }: LateStorage,
  { policies, tenants }: Pick<Access, 'policies' | 'tenants'>,
  isPressed: () => boolean,
  { clock, random, telemetry, nextId }: Surroundings,
): Followers {
  const common = { clock, random, telemetry, isPressed };
  const alerts = { log, records, follows, violations, policies, tenants, clock, nextId, telemetry };
  return {
    indexFollower: createFollower({ name: 'the index of events', work: index, ...common }),
    alertFollower: createFollower({
      name: 'the follower for alerts',
      work: new AlertFollower(alerts),
      ...common,
    }),
  };
}
