// Whether a request may come from where it does, before anything else is looked at. A page of another site must not reach a
// service on its reader's own machine by a name that leads there (DNS rebinding), so on a loopback address, and where the
// public address of the service is known, the Host that is asked for must be one of its names.

import type { IncomingHttpHeaders } from 'node:http';
import { AuditError } from '@tallystick/contract';
import { header } from '../http/request-headers.ts';

export interface OriginRules {
  readonly isLoopback: boolean;
  /** Undefined: the settings do not say how others reach the service. */
  readonly publicUrl: string | undefined;
  readonly corsOrigins: readonly string[];
  /** Further names, as a proxy sends them. */
  readonly allowedHosts: readonly string[];
}

const LOOPBACK: readonly string[] = ['localhost', '127.0.0.1', '[::1]'];

export function createOriginCheck(rules: OriginRules): (headers: IncomingHttpHeaders) => void {
  const { isLoopback, publicUrl } = rules;
  const own = publicUrl === undefined ? [] : [publicUrl];
  const origins = new Set([...own, ...rules.corsOrigins].map((url) => new URL(url).origin));
  const hosts = new Set([
    ...own.map((url) => new URL(url).hostname),
    ...rules.allowedHosts.map((name) => name.toLowerCase()),
    ...(isLoopback ? LOOPBACK : []),
  ]);
  const judgesHost = isLoopback || publicUrl !== undefined;
  return (headers) => {
    const origin = header(headers, 'origin');
    if (origin !== undefined && !origins.has(origin) && !(isLoopback && isOnLoopback(origin)))
      throw refused('Origin', origin, 'add it to Server__CorsOrigins if its pages may ask');
    const host = header(headers, 'host') ?? '';
    if (judgesHost && !hosts.has(hostnameOf(host)))
      throw refused('Host', host, 'add it to Mcp__AllowedHosts if the service is reached by it');
  };
}

function isOnLoopback(origin: string): boolean {
  const url = URL.parse(origin);
  return url !== null && url.origin === origin && LOOPBACK.includes(url.hostname);
}

/** Without the port; empty where it is no host. */
function hostnameOf(host: string): string {
  return /^(\[[0-9a-f:.]+\]|[^\s:/@?#]+)(?::\d{1,5})?$/i.exec(host)?.[1]?.toLowerCase() ?? '';
}

function refused(field: 'Origin' | 'Host', value: string, advice: string): AuditError {
  const issue = 'is not one from which /mcp may be asked';
  return new AuditError('FORBIDDEN', `${field} '${value.slice(0, 100)}' ${issue}; ${advice}.`, {
    details: [{ field, issue, value }],
  });
}
