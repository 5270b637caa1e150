// The names under which the logs of a tenant are signed: that of its first log, and a new one for each time that it went
// on after a restore.

import type { TenantId } from '@tallystick/contract';

export interface NamedLog {
  readonly tenant: TenantId;
  /** 0 for the first log of a tenant. */
  readonly epoch: number;
}

const REST = /^([^/]+)(?:\/([1-9]\d{0,8}))?$/;

/** Undefined for a name that is none of this installation. */
export function logNamed(origin: string, logOrigin: string): NamedLog | undefined {
  const prefix = `${logOrigin}/t/`;
  const [, tenant, epoch = '0'] = (origin.startsWith(prefix) && REST.exec(origin.slice(prefix.length))) || [];
  return tenant === undefined ? undefined : { tenant, epoch: Number(epoch) };
}
