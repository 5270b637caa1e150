import { compareSegments } from '../store/compare.ts';
import type { IndexBackend } from './open-index.ts';

/** What differs between the segments of a tenant and its log, of how many events. */
export async function comparedSegments({ making }: IndexBackend) {
  let events = 0;
  const { faults, eventsLeftOut } = await compareSegments('acme', making, (count) => (events += count));
  return { faults, events, ...(eventsLeftOut === 0 ? {} : { eventsLeftOut }) };
}
