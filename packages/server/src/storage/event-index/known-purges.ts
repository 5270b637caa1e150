// What purge notices have removed, of those that were read and checked: a notice never changes.

import type { TenantId } from '@tallystick/contract';
import type { IndexSpan } from '../../streams/removal/removal.ts';
import { RecentlyUsed } from './recently-used.ts';

const NOTICES_MAX = 1000;

export class KnownPurges {
  readonly #spans = new RecentlyUsed<string, readonly IndexSpan[]>(NOTICES_MAX);

  spansOf(tenant: TenantId, noticeIndex: number): readonly IndexSpan[] | undefined {
    return this.#spans.get(`${tenant} ${noticeIndex}`);
  }

  keep(tenant: TenantId, noticeIndex: number, spans: readonly IndexSpan[]): void {
    this.#spans.keep(`${tenant} ${noticeIndex}`, spans);
  }
}
