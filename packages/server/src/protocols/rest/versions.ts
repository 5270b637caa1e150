// Versions as REST spells them. The path names one (`/api/v1/…`); without it three readers may: the query parameter
// `api-version`, the header `X-Version`, and the parameter `ver` in `Accept`; with none it is 1.0. The named
// versions must exist and agree, with one another and with the path.

import { AuditError, type Version, VERSIONS } from '@tallystick/contract';
import { header, type HeaderValues } from '../http/request-headers.ts';
import { SUPPORTED_VERSIONS } from '../http/version-headers.ts';

const DEFAULT_VERSION: Version = 'v1';
const NAMES: ReadonlyMap<string, Version> = new Map(
  VERSIONS.flatMap((version) => [
    [version.slice(1), version],
    [`${version.slice(1)}.0`, version],
  ]),
);

/** The headers that may name the version, as `Vary` lists them. */
export const VERSION_READERS = 'Accept, X-Version';

const VER_PARAMETER = /;\s*ver\s*=\s*(?:"([^"]*)"|([^\s;,"]*))/gi;

/** The version that the request asks for; throws UNSUPPORTED_API_VERSION. */
export function readVersion(
  inPath: Version | undefined,
  headers: HeaderValues,
  inQuery: readonly string[],
): Version {
  // Nearly every request says it in its path and nowhere else.
  const { 'x-version': inHeader, accept } = headers;
  if (inQuery.length === 0 && inHeader === undefined && accept === undefined)
    return inPath ?? DEFAULT_VERSION;
  let found = inPath;
  for (const [place, name] of readers(headers, inQuery)) {
    const version = NAMES.get(name.trim());
    if (version === undefined) throw unsupported(place, name, `is not one of ${SUPPORTED_VERSIONS}`);
    if (found !== undefined && found !== version) {
      throw unsupported(place, name, `contradicts ${inPath === undefined ? 'another place' : 'the path'}`);
    }
    found = version;
  }
  return found ?? DEFAULT_VERSION;
}

function readers(headers: HeaderValues, inQuery: readonly string[]): [place: string, name: string][] {
  const found = inQuery.map((name): [string, string] => ['api-version', name]);
  const inHeader = header(headers, 'x-version');
  for (const name of inHeader?.split(',') ?? []) found.push(['X-Version', name]);
  const accept = header(headers, 'accept');
  if (accept !== undefined && /ver/i.test(accept)) {
    for (const [, quoted, plain = ''] of accept.matchAll(VER_PARAMETER))
      found.push(['Accept', quoted ?? plain]);
  }
  return found;
}

function unsupported(place: string, name: string, issue: string): AuditError {
  return new AuditError(
    'UNSUPPORTED_API_VERSION',
    `The version '${name.slice(0, 40)}' in ${place} ${issue}.`,
    {
      details: [{ field: place, issue, value: name }],
    },
  );
}
