// MCP under the HTTP listener, unless the settings say that it is not wanted: its own mount, and that of its metadata as a
// protected resource.

import { readBuild } from '../config/build.ts';
import { isLoopbackUrl } from '../config/loopback-url.ts';
import type { Gateway } from '../gateway/pipeline.ts';
import type { Mount } from '../protocols/http/mount.ts';
import type { BodyParts } from '../protocols/input/json-body.ts';
import { createMcpMount } from '../protocols/mcp/mount.ts';
import { createProtectedResourceMount } from '../protocols/mcp/protected-resource.ts';
import type { Surroundings } from './surroundings.ts';

export function mcpMounts(
  gateway: Gateway,
  { config, telemetry, publicUrl }: Surroundings,
  { bodies, isTls }: { readonly bodies: BodyParts; readonly isTls: boolean },
): Mount[] {
  const { mcp, server, authentication } = config;
  if (!mcp.enabled) return [];
  const mount = createMcpMount({
    gateway,
    bodies,
    telemetry,
    tools: mcp.tools,
    build: readBuild().version,
    isTls,
    isLoopback: isLoopbackUrl(`http://${server.host.includes(':') ? `[${server.host}]` : server.host}`),
    publicUrl,
    setPublicUrl: server.publicUrl,
    corsOrigins: server.corsOrigins ?? [],
    allowedHosts: mcp.allowedHosts ?? [],
  });
  const issuers = authentication.issuers.map(({ issuer }) => issuer);
  const refuse: Mount['refuse'] = (...refused) => mount.refuse(...refused);
  return [mount, createProtectedResourceMount({ publicUrl, issuers, isTls, refuse })];
}
