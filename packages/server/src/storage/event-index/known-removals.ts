// What notices have removed, of those that were read and checked: a notice never changes.

import type { TenantId } from '@tallystick/contract';
import { RecentlyUsed } from './recently-used.ts';
import type { Purge } from '../rows/purge-notice.ts';
import type { Redaction } from '../rows/redaction-notice.ts';
import type { Removal } from './store/segment-store.ts';

/** An erasure has as many before the index is made again. */
const NOTICES_MAX = 12_000;

export class KnownRemovals {
  readonly #removals = new RecentlyUsed<string, Removal>(NOTICES_MAX);

  of(tenant: TenantId, noticeIndex: number): Removal | undefined {
    return this.#removals.get(`${tenant} ${noticeIndex}`);
  }

  keep(tenant: TenantId, removal: Removal): void {
    this.#removals.keep(`${tenant} ${removal.noticeIndex}`, removal);
  }
}

export function removalOf(notice: Purge | Redaction): Removal {
  const { noticeIndex } = notice;
  if ('spans' in notice) return { noticeIndex, spans: notice.spans };
  const { index, eventId, tags } = notice;
  return { noticeIndex, spans: [{ firstIndex: index, endIndex: index + 1 }], units: { eventId, tags } };
}
