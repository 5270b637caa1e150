// Says that a log refuses what is to be written.

import type { TenantId } from '@tallystick/contract';
import { EvidenceError } from '@tallystick/evidence';

/** What is wrong is of one tenant's log: others need not fail with it. */
export class TenantFault extends Error {
  readonly tenant: TenantId;

  constructor(tenant: TenantId, why: string, cause?: Error) {
    super(`the log of ${tenant} refused an entry: ${why}`, { cause });
    this.tenant = tenant;
  }
}

/** It has less than it had: whoever wants to append is told why. */
export class ShortenedLog extends TenantFault {
  readonly why: string;

  constructor(tenant: TenantId, entries: number, reached: number) {
    const why = `it has ${entries} entries, and had ${reached}: the database was put back to an earlier state, or a standby was promoted that was behind. To go on openly as a new log, stop every node and run \`tallystick recover --new-epoch\`.`;
    super(tenant, why);
    this.why = why;
  }
}

/** What is stored of a log and is not what was written is a fault of that log alone. */
export function orTenantFault<T>(tenant: TenantId, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw error instanceof EvidenceError ? new TenantFault(tenant, error.message, error) : error;
  }
}
