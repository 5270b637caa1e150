// The database that the settings name, with the passwords in it: one place where the URLs of all its users are revealed.

import type { Config } from './settings.ts';

export interface DatabaseUrls {
  readonly url: string;
  readonly indexUrl: string | undefined;
  readonly retentionUrl: string | undefined;
}

/** Undefined: there is none, and everything is in the data directory. */
export function databaseUrls({ url, indexUrl, retentionUrl }: Config['storage']): DatabaseUrls | undefined {
  return url && { url: url.reveal(), indexUrl: indexUrl?.reveal(), retentionUrl: retentionUrl?.reveal() };
}

/** The one whose user may read the evidence of all tenants, and the setting that names it. */
export function verifyingUrl(
  storage: Config['storage'],
): { readonly url: string; readonly setting: string } | undefined {
  const urls = databaseUrls(storage);
  if (urls?.indexUrl !== undefined) return { url: urls.indexUrl, setting: 'Storage__IndexUrl' };
  return urls && { url: urls.url, setting: 'Storage__Url' };
}
