// The headers by which answers say which versions there are, and by which those of a deprecated version warn.

import { type Version, VERSIONS } from '@tallystick/contract';
import type { VersionStates } from '../../gateway/versions.ts';
import type { AnswerHeaders } from './mount.ts';

/** The value of `api-supported-versions`, which every answer over HTTP has. */
export const SUPPORTED_VERSIONS = VERSIONS.map((version) => `${version.slice(1)}.0`).join(', ');

const NO_WARNINGS: AnswerHeaders = {};

/** The warnings that go along with every answer of a version; none for an active one. */
export function versionHeaders(version: Version | undefined, states: VersionStates): AnswerHeaders {
  if (version === undefined || states[version].state === 'Active') return NO_WARNINGS;
  const { deprecationDate, sunsetDate } = states[version];
  return {
    'X-API-Deprecated': 'true',
    ...standardHeaders(deprecationDate, sunsetDate),
    ...(deprecationDate === undefined ? {} : { 'X-API-Deprecation-Date': deprecationDate }),
    ...(sunsetDate === undefined ? {} : { 'X-API-Sunset-Date': sunsetDate }),
  };
}

/** The same as RFC 9745 and RFC 8594 say it, for tools that know these. */
function standardHeaders(deprecationDate: string | undefined, sunsetDate: string | undefined) {
  return {
    ...(deprecationDate === undefined
      ? {}
      : { Deprecation: `@${Math.floor(Date.parse(deprecationDate) / 1000)}` }),
    ...(sunsetDate === undefined ? {} : { Sunset: new Date(sunsetDate).toUTCString() }),
  };
}
