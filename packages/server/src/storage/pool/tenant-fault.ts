// Says that a log refuses what is to be written.

import type { TenantId } from '@tallystick/contract';

/** What is wrong is of one tenant's log: others need not fail with it. */
export class TenantFault extends Error {
  readonly tenant: TenantId;

  constructor(tenant: TenantId, why: string, cause?: Error) {
    super(`the log of ${tenant} refused an entry: ${why}`, { cause });
    this.tenant = tenant;
  }
}
