// Who logs in to the database. One user may do everything; or what concerns all tenants, and what removes content, is done
// by users of their own, so that the one who answers requests cannot take on their roles.

import type { Role } from '../../tables.ts';
import { ROLES } from '../schema/rights.ts';

export interface LoginUrls {
  /** Of the user who serves. */
  readonly url: string;
  /** Of the one who does what concerns all tenants; undefined: the serving user does. */
  readonly indexUrl?: string | undefined;
  /** Of the one who removes content; undefined: the serving user does. */
  readonly retentionUrl?: string | undefined;
}

interface LoginFacts {
  /** Where an operator names its URL. */
  readonly setting: string;
  readonly url: keyof LoginUrls;
  readonly roles: readonly Role[];
}

export type Login = 'Serving' | 'Index' | 'Retention';

export const LOGINS: Readonly<Record<Login, LoginFacts>> = {
  Serving: { setting: 'Storage__Url', url: 'url', roles: ['Writer', 'Reader'] },
  // A search is made by a reader, who is the searcher for single statements of it.
  Index: {
    setting: 'Storage__IndexUrl',
    url: 'indexUrl',
    roles: ['Projector', 'Searcher', 'Verifier', 'Reader'],
  },
  Retention: { setting: 'Storage__RetentionUrl', url: 'retentionUrl', roles: ['Retention'] },
};

const ALL = Object.keys(LOGINS) as Login[];

/** Those that have a URL of their own; the one that serves is the first. */
export function loginsIn(urls: LoginUrls): Login[] {
  return ALL.filter((login) => urls[LOGINS[login].url] !== undefined);
}

/** Whose roles these are: of two that may have one, it is the one that may do less. */
export function loginFor(role: Role): Login {
  return ALL.find((login) => LOGINS[login].roles.includes(role))!;
}

/** The roles that a login takes on, by their names; the serving login also has those of logins that are not there. */
export function rolesOf(login: Login, logins: readonly Login[]): string[] {
  const done = login === 'Serving' ? ALL.filter((each) => each === login || !logins.includes(each)) : [login];
  return [...new Set(done.flatMap((each) => LOGINS[each].roles))].map((role) => ROLES[role]);
}
