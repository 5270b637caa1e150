// What became of a portion of a log, or of several.

import type { TenantId } from '@tallystick/contract';
import type { SetAside } from '../../../followers/follower-work.ts';
import type { Reasons } from './pieces.ts';

export interface Taken {
  readonly count: number;
  readonly isMore: boolean;
  readonly setAside: readonly SetAside[];
}

export const NOTHING: Taken = { count: 0, isMore: false, setAside: [] };

export function setAsideOf(tenant: TenantId, failed: Reasons): SetAside[] {
  return [...failed].map(([index, reason]) => ({ tenantId: tenant, sequence: index + 1, reason }));
}
