// What purge notices have removed, of those that were read and checked: a notice never changes.

import type { TenantId } from '@tallystick/contract';
import type { IndexSpan } from '../../streams/removal/removal.ts';

const NOTICES_MAX = 1000;

export class KnownPurges {
  /** The oldest first. */
  readonly #spans = new Map<string, readonly IndexSpan[]>();

  spansOf(tenant: TenantId, noticeIndex: number): readonly IndexSpan[] | undefined {
    return this.#spans.get(`${tenant} ${noticeIndex}`);
  }

  keep(tenant: TenantId, noticeIndex: number, spans: readonly IndexSpan[]): void {
    this.#spans.set(`${tenant} ${noticeIndex}`, spans);
    for (const oldest of this.#spans.keys()) {
      if (this.#spans.size <= NOTICES_MAX) return;
      this.#spans.delete(oldest);
    }
  }
}
