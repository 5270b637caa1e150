// The headers by which answers of a deprecated version warn.

import type { Version } from '@tallystick/contract';
import type { VersionStates } from '../../gateway/versions.ts';
import type { AnswerHeaders } from './mount.ts';

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
