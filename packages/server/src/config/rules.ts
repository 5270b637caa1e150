// What several settings must fulfil together.

import type { Config } from './settings.ts';

export function rules(config: Config): string[] {
  const { server, storage, grpc, rateLimiting, apiVersions } = config;
  const problems: string[] = [];
  if (storage.url !== undefined) {
    // To pass over it would put events where nobody looks for them.
    problems.push(
      'Storage__Url: this version keeps its data in the data directory only; take the setting away',
    );
  }
  if ((server.tls.certificate === undefined) !== (server.tls.key === undefined)) {
    const [given, missing] = server.tls.key === undefined ? ['Certificate', 'Key'] : ['Key', 'Certificate'];
    problems.push(`Server__Tls__${given} is given without Server__Tls__${missing}; TLS needs both`);
  }
  if (grpc.port !== undefined && grpc.port !== 0 && grpc.port === server.port) {
    problems.push(`Grpc__Port: ${grpc.port} is also Server__Port; gRPC needs a port of its own`);
  }
  if (rateLimiting.enableRateLimiting && rateLimiting.globalLimiter.permitLimit === undefined) {
    problems.push(
      'RateLimiting__GlobalLimiter__PermitLimit is missing; RateLimiting__EnableRateLimiting needs it (a whole number, at least 1)',
    );
  }
  for (const [version, { deprecationDate, sunsetDate }] of Object.entries(apiVersions)) {
    if (
      deprecationDate !== undefined &&
      sunsetDate !== undefined &&
      Date.parse(sunsetDate) < Date.parse(deprecationDate)
    ) {
      const section = `ApiVersions__${version.toUpperCase()}`;
      problems.push(
        `${section}__SunsetDate: ${sunsetDate} lies before ${section}__DeprecationDate ${deprecationDate}`,
      );
    }
  }
  return problems;
}
