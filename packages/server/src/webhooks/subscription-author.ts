// By whose rights a subscription sends. Whoever says where events go could read them there, so nobody gets them sent to a place of their
// own by the rights of another: who changes the URL takes over, with their own rights, and who changes the certificates narrows them.
// So does who changes the filters: by which deliveries there are, they could find out what is in events that they may not see.

import type { ErrorDetail, SubscriptionConfiguration } from '@tallystick/contract';
import type { Caller } from '../access/caller.ts';
import { isAtLeast, lower } from '../access/roles.ts';
import type { SubscriptionAuthor, SubscriptionRecord } from './subscription.ts';

export interface Authored extends Pick<SubscriptionRecord, 'author' | 'clearance'> {
  readonly faults: readonly ErrorDetail[];
}

type Wanted = Pick<SubscriptionConfiguration, 'url' | 'clearance'>;
type Current = Pick<SubscriptionRecord, 'author' | 'url' | 'clearance'>;

/** `isNarrowed`: something is changed that leaves the rights that both have. `current` is undefined for a new one. Without a clearance in `wanted`, it is the highest that is allowed. */
export function authored(
  wanted: Wanted,
  current: Current | undefined,
  isNarrowed: boolean,
  caller: Pick<Caller, 'roles' | 'clearance'>,
): Authored {
  const author = authorOf(wanted, current, isNarrowed, caller);
  const own = lower(author.clearance, caller.clearance);
  const { clearance = own } = wanted;
  // What was granted before stays, also when somebody with less changes something else.
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
  // Access rules judge by each role, and what one of them is denied is not sent.
  const both = [...new Set([...author.roles, ...roles])];
  return { roles: both, clearance: lower(author.clearance, clearance) };
}
