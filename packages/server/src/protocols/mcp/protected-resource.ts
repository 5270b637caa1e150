// The metadata of /mcp as a protected resource (RFC 9728): which authorization servers issue tokens for it, and with which
// scopes. Where the service issues its own tokens there is no such server: a caller brings a key, or a token from the
// command line. Nobody needs a credential to read it.

import { AuditError, PERMISSIONS } from '@tallystick/contract';
import { entityTagOf, namesTag } from '../http/conditional.ts';
import type { Mount } from '../http/mount.ts';
import { standingHeaders } from '../http/standing-headers.ts';

const PREFIX = '/.well-known/oauth-protected-resource';
const PATHS: readonly string[] = [PREFIX, `${PREFIX}/mcp`];
const SCOPES = [...new Set(Object.values(PERMISSIONS).flatMap(({ scope }) => scope ?? []))].toSorted();

export interface ProtectedResourceOptions {
  readonly publicUrl: () => string;
  /** The identity providers of the settings. */
  readonly issuers: readonly string[];
  readonly isTls: boolean;
  readonly refuse: Mount['refuse'];
}

export const metadataUrl = (publicUrl: string): string => `${publicUrl}${PREFIX}/mcp`;

export function createProtectedResourceMount({
  publicUrl,
  issuers,
  isTls,
  refuse,
}: ProtectedResourceOptions): Mount {
  const textOf = () =>
    JSON.stringify({
      resource: `${publicUrl()}/mcp`,
      ...(issuers.length > 0 && { authorization_servers: issuers }),
      scopes_supported: SCOPES,
      bearer_methods_supported: ['header'],
      resource_name: 'Tallystick',
    });
  return {
    prefix: PREFIX,
    standingHeaders: standingHeaders(isTls),
    refuse,
    handle({ request, path }) {
      const { method = '' } = request;
      if (!PATHS.includes(path) || (method !== 'GET' && method !== 'HEAD'))
        throw new AuditError('ROUTE_NOT_FOUND', `There is no ${method} ${path.slice(0, 200)}.`);
      const body = textOf();
      const etag = entityTagOf(body, undefined);
      const headers = { ETag: etag, 'Cache-Control': 'no-cache' };
      if (namesTag(request.headers['if-none-match'], etag))
        return Promise.resolve({ status: 304, headers, body: undefined, coding: undefined });
      return Promise.resolve({
        status: 200,
        headers: { ...headers, 'Content-Type': 'application/json' },
        body,
        coding: undefined,
      });
    },
  };
}
