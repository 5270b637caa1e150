// The names under which the logs of a tenant are signed: that of its first log, and a new one for each time that it went
// on after a restore. A name has one spelling, so that no two are of the same log.
//
//   <LogOrigin>/t/<tenant>
//   <LogOrigin>/t/<tenant>/<epoch, decimal from 1 on, without leading zeros>

export interface NamedLog {
  readonly tenant: string;
  /** 0 for the first log of a tenant. */
  readonly epoch: number;
}

const REST = /^([^/]+)(?:\/([1-9]\d{0,8}))?$/;

const EPOCH = /^(.+\/t\/[^/]+)\/([1-9]\d{0,8})$/;

export function originOf({ tenant, epoch }: NamedLog, logOrigin: string): string {
  return `${logOrigin}/t/${tenant}${epoch === 0 ? '' : `/${epoch}`}`;
}

/** Undefined for a name that is none of this installation. */
export function logNamed(origin: string, logOrigin: string): NamedLog | undefined {
  const prefix = `${logOrigin}/t/`;
  const [, tenant, epoch = '0'] = (origin.startsWith(prefix) && REST.exec(origin.slice(prefix.length))) || [];
  return tenant === undefined ? undefined : { tenant, epoch: Number(epoch) };
}

/** For whoever does not know the installation: the name of the tenant's first log, and the epoch, 0 for that one. */
export function epochIn(origin: string): { readonly first: string; readonly epoch: number } {
  const [, first = origin, epoch = '0'] = EPOCH.exec(origin) ?? [];
  return { first, epoch: Number(epoch) };
}
