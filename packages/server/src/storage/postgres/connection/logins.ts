// The users of the database. One user may do everything; or separate users work on all tenants and remove content, so
// that the serving user cannot take on their roles.

import type { DatabaseRole } from '../../table.ts';
import { DATABASE_ROLES } from '../schema/rights.ts';

export interface LoginUrls {
  /** The URL of the serving user. */
  readonly url: string;
  /** The URL of the user for work on all tenants; undefined: the serving user does it. */
  readonly indexUrl?: string | undefined;
  /** The URL of the user that removes content; undefined: the serving user does it. */
  readonly retentionUrl?: string | undefined;
}

interface LoginFacts {
  /** The setting that names its URL. */
  readonly setting: string;
  readonly url: keyof LoginUrls;
  readonly roles: readonly DatabaseRole[];
}

export type Login = 'Serving' | 'Index' | 'Retention';

export const LOGINS: Readonly<Record<Login, LoginFacts>> = {
  Serving: { setting: 'Storage__Url', url: 'url', roles: ['Writer', 'Reader'] },
  Index: { setting: 'Storage__IndexUrl', url: 'indexUrl', roles: ['Projector', 'Verifier'] },
  Retention: { setting: 'Storage__RetentionUrl', url: 'retentionUrl', roles: ['Retention'] },
};

const ALL = Object.keys(LOGINS) as Login[];

/** Logins with their own URL; the serving one comes first. */
export function loginsIn(urls: LoginUrls): Login[] {
  return ALL.filter((login) => urls[LOGINS[login].url] !== undefined);
}

/** The login of a role: of two that may have it, the one with fewer rights. */
export function loginFor(role: DatabaseRole): Login {
  return ALL.find((login) => LOGINS[login].roles.includes(role))!;
}

/** The names of a login's roles; the serving login also has those of missing logins. */
export function rolesOf(login: Login, logins: readonly Login[]): string[] {
  const done = login === 'Serving' ? ALL.filter((each) => each === login || !logins.includes(each)) : [login];
  return [...new Set(done.flatMap((each) => LOGINS[each].roles))].map((role) => DATABASE_ROLES[role]);
}
