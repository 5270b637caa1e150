// Versions of the interface. The state of a version (Active → Deprecated → Sunset → Retired) decides which of its operations
// are still served. The protocol reads which version a request names; a request outside all versions names none and is
// always served.

import { AuditError, type Operation, type OperationName, type Version } from '@tallystick/contract';
import type { Config } from '../config/settings.ts';

export type VersionStates = Config['apiVersions'];

/** Used for requests outside all versions. */
export const FIRST_VERSION: Version = 'v1';

/** The newest that is not retired, for links that are to work for a while. */
export function servedVersion(states: VersionStates): Version {
  const served = (Object.keys(states) as Version[]).filter((version) => states[version].state !== 'Retired');
  return served.toSorted().at(-1) ?? FIRST_VERSION;
}

/** A retired version is gone: it is refused as an unknown route is, before the caller is authenticated. */
export function checkRetired(version: Version | undefined, states: VersionStates): void {
  if (version === undefined || states[version].state !== 'Retired') return;
  throw new AuditError(
    'API_VERSION_RETIRED',
    `Version ${version.slice(1)}.0 has been removed; use a newer one.`,
  );
}

/** A sunset version refuses writes, as a permission that nobody has: authentication and other missing permissions come first. */
export function checkSunset(
  { effect }: Operation<OperationName>,
  version: Version | undefined,
  states: VersionStates,
): void {
  if (version === undefined || effect !== 'Write' || states[version].state !== 'Sunset') return;
  throw new AuditError(
    'API_VERSION_SUNSET',
    `Version ${version.slice(1)}.0 only reads now; write through a newer one.`,
  );
}
