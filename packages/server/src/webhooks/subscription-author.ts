// By whose rights a subscription sends. A caller who decides where events go can read them there. So a caller who changes the URL becomes the
// author, with their own rights, and cannot receive events by the rights of another. A caller who changes the certificates narrows the
// rights to those that both have. So does one who changes the filters: which deliveries arrive would tell what is in events that they may
// not see.

import type { ErrorDetail, SubscriptionConfiguration } from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import { isAtLeast, lower } from '../access/roles.ts';
import type { SubscriptionAuthor, SubscriptionRecord } from './subscription.ts';

export interface Authored extends Pick<SubscriptionRecord, 'author' | 'clearance'> {
  readonly faults: readonly ErrorDetail[];
}

type Wanted = Pick<SubscriptionConfiguration, 'url' | 'clearance'>;
type Current = Pick<SubscriptionRecord, 'author' | 'url' | 'clearance'>;

/** `isNarrowed`: the change leaves only the rights that both have. `current`: undefined for a new subscription. Without a clearance in `wanted` it gets the highest one allowed. */
export function authored(
  wanted: Wanted,
  current: Current | undefined,
  isNarrowed: boolean,
  caller: Pick<Caller, 'roles' | 'clearance'>,
): Authored {
  const author = authorOf(wanted, current, isNarrowed, caller);
  const own = lower(author.clearance, caller.clearance);
  const { clearance = own } = wanted;
  // What was granted before stays, even if a caller with lower rights changes something else.
  const isKept = clearance === current?.clearance && isAtLeast(author.clearance, clearance);
  if (isKept || isAtLeast(own, clearance)) return { author, clearance, faults: [] };
  const issue = `must be at most ${own}: nobody has more sent than they may see`;
  return { author, clearance, faults: [{ field: 'clearance', issue, value: clearance }] };
}

function authorOf(
  wanted: Wanted,
  current: Current | undefined,
  isNarrowed: boolean,
  { roles, clearance }: SubscriptionAuthor,
): SubscriptionAuthor {
  if (current === undefined || wanted.url !== current.url) return { roles, clearance };
  const { author } = current;
  if (!isNarrowed) return author;
  // Access rules judge each role, and what is denied to one of them is not sent.
  const both = [...new Set([...author.roles, ...roles])];
  return { roles: both, clearance: lower(author.clearance, clearance) };
}
