// The ports of an index, so that a test can replace single methods of them.

import type { IndexedLog, SegmentStore } from '../store/segment-store.ts';

/** Its methods as functions of their own. */
export function bound(store: SegmentStore): SegmentStore {
  return {
    manifest: (...given) => store.manifest(...given),
    swap: (...given) => store.swap(...given),
    newSegment: () => store.newSegment(),
    put: (...given) => store.put(...given),
    get: (...given) => store.get(...given),
    remove: (...given) => store.remove(...given),
    nextTenant: (after) => store.nextTenant(after),
    sweep: (...given) => store.sweep(...given),
  };
}

export function boundLog(log: IndexedLog, between: IndexedLog['between']): IndexedLog {
  return {
    behind: (events) => log.behind(events),
    head: (tenant) => log.head(tenant),
    events: (...asked) => log.events(...asked),
    stored: (...asked) => log.stored(...asked),
    leaves: (...asked) => log.leaves(...asked),
    secrets: (tenant) => log.secrets(tenant),
    removedSince: (...asked) => log.removedSince(...asked),
    between,
  };
}

export function watching(store: SegmentStore, onMade: (segment: number) => void): SegmentStore {
  return {
    ...bound(store),
    async newSegment() {
      const segment = await store.newSegment();
      onMade(segment);
      return segment;
    },
  };
}
