// The names under which the logs of a tenant are signed: that of its first log, and a new one for each time that it went
// on after a restore. A name has one spelling, so that no two are of the same log.
//
//   <LogOrigin>/t/<tenant>
//   <LogOrigin>/t/<tenant>/<epoch, decimal from 1 on, without leading zeros>
//
// The installation has a log of its own, with `installation` in the place of `t/<tenant>`.

/** Stands for the installation where others have a tenant. No tenant can have this name. */
export const INSTALLATION = '*';

export interface NamedLog {
  /** Or INSTALLATION. */
  readonly tenant: string;
  /** 0 for the first log of a tenant. */
  readonly epoch: number;
}

const REST = /^\/(?:t\/([^/*]+)|installation)(?:\/([1-9]\d{0,8}))?$/;

const EPOCH = /^(.+\/(?:t\/[^/]+|installation))\/([1-9]\d{0,8})$/;

export function originOf({ tenant, epoch }: NamedLog, logOrigin: string): string {
  const name = tenant === INSTALLATION ? 'installation' : `t/${tenant}`;
  return `${logOrigin}/${name}${epoch === 0 ? '' : `/${epoch}`}`;
}

/** Undefined for a name that is none of this installation. */
export function logNamed(origin: string, logOrigin: string): NamedLog | undefined {
  const named = origin.startsWith(logOrigin) ? REST.exec(origin.slice(logOrigin.length)) : null;
  return named === null ? undefined : { tenant: named[1] ?? INSTALLATION, epoch: Number(named[2] ?? '0') };
}

/** For callers that do not know the installation: the name of the tenant's first log, and the epoch, 0 for that one. */
export function epochIn(origin: string): { readonly first: string; readonly epoch: number } {
  const [, first = origin, epoch = '0'] = EPOCH.exec(origin) ?? [];
  return { first, epoch: Number(epoch) };
}
