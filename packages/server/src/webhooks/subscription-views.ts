// Subscriptions as callers see them: with their current status, and an entity tag that changes with either.

import { createHash } from 'node:crypto';
import type { Answer, InputOf } from '@tallystick/contract';
import type { Call } from '../call.ts';
import { type Cursors, isId, newestFirst, readPage, rowsIn } from '../paging.ts';
import { type Circuits, type Standing, standingOf } from './circuits.ts';
import { showSubscription, type SubscriptionRecord } from './subscription.ts';
import type { Subscriptions } from './subscriptions.ts';

interface ViewParts {
  readonly subscriptions: Subscriptions;
  readonly circuits: Circuits;
  readonly cursors: Cursors;
}

export async function standingNow(
  subscription: SubscriptionRecord,
  { circuits }: Pick<ViewParts, 'circuits'>,
): Promise<Standing> {
  const { tenantId, subscriptionId } = subscription;
  const known = await circuits.find(tenantId, [subscriptionId]);
  return standingOf(subscription, known.get(subscriptionId));
}

export function shownAnswer(subscription: SubscriptionRecord, standing: Standing) {
  return {
    body: showSubscription(subscription, standing),
    facts: { etag: etagOf(subscription, standing) },
  };
}

const MARK_LENGTH = 8;

/** The version, with a mark of the circuit's state unless that is closed, so that no cache keeps an older state. */
function etagOf({ version }: SubscriptionRecord, { circuit }: Standing): string {
  if (circuit.state === 'Closed' && circuit.consecutiveFailures === 0) return `"${version}"`;
  const mark = createHash('sha256').update(JSON.stringify(circuit)).digest('hex').slice(0, MARK_LENGTH);
  return `"${version}-${mark}"`;
}

/** For a change only the version counts, because the circuit changes by itself. */
export function versionsNamed(ifMatch: string): string {
  return ifMatch.replaceAll(/"(\d+)-[0-9a-f]{8}"/g, '"$1"');
}

export async function listSubscriptions(
  call: Call,
  input: InputOf<'subscriptions.list'>,
  { subscriptions, circuits, cursors }: ViewParts,
): Promise<Answer<'subscriptions.list'>> {
  const there = (await subscriptions.all(call.tenant!)).filter(({ isDeleted }) => !isDeleted);
  const known = await circuits.find(
    call.tenant!,
    there.map(({ subscriptionId }) => subscriptionId),
  );
  const standing = (each: SubscriptionRecord) => standingOf(each, known.get(each.subscriptionId));
  const listed = there.filter((each) => input.status?.includes(standing(each).status) ?? true);
  const read = readPage(cursors, call, input, isId);
  const rows = rowsIn(listed, ({ subscriptionId }) => subscriptionId, newestFirst(read));
  const { data, pagination } = read.page(rows, ({ subscriptionId }) => subscriptionId, listed.length);
  return {
    kind: 'Done',
    body: { data: data.map((each) => showSubscription(each, standing(each))), pagination },
  };
}
