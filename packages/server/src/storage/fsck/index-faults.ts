// Compares the index of events with the log of each tenant that has no fault itself: somebody who changes the index hides events
// from lists and searches, though every one of them is in the log.

import { type ComparedIndex, compareSegments } from '../event-index/store/compare.ts';
import type { FsckProgress, TenantReport } from './fsck.ts';
import type { StoreFault } from './store-fault.ts';

export interface IndexReport {
  /** Events whose part of the index was compared; those behind it are searched in the log itself. */
  readonly events: number;
  /** Events whose part of the index was not compared, because it is made again after a removal. */
  readonly eventsLeftOut: number;
  /** Why the index was not compared; undefined: it was. */
  readonly whyNot: string | undefined;
}

export async function indexFaults(
  tenants: readonly TenantReport[],
  { store, log }: ComparedIndex,
  onProgress: (progress: FsckProgress) => Promise<void> | void,
): Promise<{ readonly faults: StoreFault[]; readonly index: IndexReport }> {
  const sound = tenants.filter(({ fault }) => fault === undefined);
  const entriesTotal = sound.flatMap(({ logs }) => logs).reduce((sum, { entries }) => sum + entries, 0);
  const faults: StoreFault[] = [];
  let [events, eventsLeftOut] = [0, 0];
  for (const { tenant } of sound) {
    const pause = async () => onProgress({ of: 'Index', entries: events, entriesTotal });
    const found = await compareSegments(tenant, { store, log, pause }, (compared) => (events += compared));
    eventsLeftOut += found.eventsLeftOut;
    faults.push(...found.faults.map((fault): StoreFault => ({ tenant, reason: 'INDEX_DIFFERS', ...fault })));
  }
  return { faults, index: { events, eventsLeftOut, whyNot: undefined } };
}
