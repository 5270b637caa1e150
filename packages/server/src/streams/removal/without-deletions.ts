// Spans without what notices name already.

import type { TenantId } from '@tallystick/contract';
import type { Deletion, IndexSpan, RemovalStore } from './removal.ts';

const DELETIONS_AT_ONCE = 1000;

/** The spans that no notice names yet, and the notices that name the others. */
export async function withoutDeletions(
  tenant: TenantId,
  spans: readonly IndexSpan[],
  removal: Pick<RemovalStore, 'deletions'>,
): Promise<{ readonly left: IndexSpan[]; readonly noticeIndexes: Set<number> }> {
  const left: IndexSpan[] = [];
  const noticeIndexes = new Set<number>();
  for (const { firstIndex, endIndex } of spans) {
    let reached = firstIndex;
    for (let portion: Deletion[] | undefined; reached < endIndex; ) {
      portion = await removal.deletions(tenant, { firstIndex: reached, endIndex }, DELETIONS_AT_ONCE);
      for (const deletion of portion) {
        noticeIndexes.add(deletion.noticeIndex);
        if (deletion.firstIndex > reached) left.push({ firstIndex: reached, endIndex: deletion.firstIndex });
        reached = Math.min(endIndex, deletion.endIndex);
      }
      if (portion.length === DELETIONS_AT_ONCE) continue;
      if (reached < endIndex) left.push({ firstIndex: reached, endIndex });
      break;
    }
  }
  return { left, noticeIndexes };
}
