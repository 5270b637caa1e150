// A log refuses a write.

import type { TenantId } from '@tallystick/contract';
import { EvidenceError } from '@tallystick/evidence';

/** A fault of one tenant's log: other tenants are not affected. */
export class TenantFault extends Error {
  readonly tenant: TenantId;

  constructor(tenant: TenantId, why: string, cause?: Error) {
    super(`the log of ${tenant} refused an entry: ${why}`, { cause });
    this.tenant = tenant;
  }
}

/** The log is shorter than before: appends are refused with this reason. */
export class ShortenedLog extends TenantFault {
  readonly why: string;

  constructor(tenant: TenantId, entries: number, reached: number) {
    const why = `it has ${entries} entries, and had ${reached}: the database was put back to an earlier state, or a standby was promoted that was behind. To go on openly as a new log, stop every node and run \`tallystick recover --new-epoch\`.`;
    super(tenant, why);
    this.why = why;
  }
}

/** Stored rows that differ from what was written are a fault of that log only. */
export function orTenantFault<T>(tenant: TenantId, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof EvidenceError ? new TenantFault(tenant, error.message, error) : error;
  }
}
