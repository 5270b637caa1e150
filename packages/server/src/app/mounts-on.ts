// The protocols that are mounted under the HTTP listener, with the parts that they share.

import { VERSIONS } from '@tallystick/contract';
import { readBuild } from '../config/build.ts';
import type { Gateway } from '../gateway/pipeline.ts';
import { namesOf } from '../operations.ts';
import { createDocsMounts } from '../protocols/docs/mount.ts';
import { createGrpcMount } from '../protocols/grpc/mount.ts';
import { BODIES_BYTES_MAX, BodyBudget } from '../protocols/http/body-budget.ts';
import { createAssetsMount } from '../protocols/graphql/graphiql.ts';
import { createGraphqlMount } from '../protocols/graphql/mount.ts';
import type { Mount } from '../protocols/http/mount.ts';
import type { BodyParts } from '../protocols/input/json-body.ts';
import { createRestMount } from '../protocols/rest/mount.ts';
import { createSoapMount } from '../protocols/soap/mount.ts';
import { STRANGERS_LIMITS } from '../protocols/streaming/lasting-answers.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Entrance } from './grpc-on.ts';
import { mcpMounts } from './mcp-mounts.ts';
import type { Overrides, Surroundings } from './surroundings.ts';

export function mountsOn(
  gateway: Gateway,
  surroundings: Surroundings,
  { bodies, lasting, tls }: Omit<Entrance, 'senders'>,
): Mount[] {
  const { config, telemetry, publicUrl } = surroundings;
  // Here or at a proxy in front.
  const isTls = tls !== undefined || config.server.publicUrl?.startsWith('https:') === true;
  const rest = createRestMount({ gateway, bodies, isTls });
  const docs = createDocsMounts({
    operations: new Set(namesOf(gateway.operations)),
    build: readBuild().version,
    isTls,
    refuse: (...refused) => rest.refuse(...refused),
  });
  const strangers = lasting.apart(STRANGERS_LIMITS);
  const grpc = VERSIONS.map((version) =>
    createGrpcMount(version, { gateway, bodies, lasting, strangers, telemetry }, isTls),
  );
  const soap = createSoapMount({ gateway, bodies, isTls, publicUrl });
  const hasIntrospection = config.graphQL.introspection;
  const graphql = VERSIONS.map((version) =>
    createGraphqlMount(version, { gateway, bodies, telemetry, hasIntrospection, lasting, isTls }),
  );
  const assets = createAssetsMount(isTls, (...refused) => rest.refuse(...refused));
  const mcp = mcpMounts(gateway, surroundings, { bodies, isTls });
  return [rest, ...graphql, assets, ...grpc, soap, ...docs, ...mcp];
}

/** What the bodies of all protocols share. */
export function bodiesOn(clock: Clock, largeBodies: Required<Overrides>['largeBodies']): BodyParts {
  return {
    clock,
    budget: new BodyBudget(BODIES_BYTES_MAX),
    parseElsewhere: (sender, message) => largeBodies.parse(sender, message),
  };
}
