// The composition root of the service: everything is built here, by hand, and handed what it needs. Only this room,
// and operate for the command line, names concrete adapters. `start` listens first, so that probes are answered
// while the rest comes up; disposal takes down in the reverse order of building.

import { createAuthenticate } from '../access/credentials.ts';
import { createLocalIssuer } from '../access/local-issuer.ts';
import { ownerNamed } from '../access/tenants.ts';
import { createTokens, type Issuer } from '../access/tokens.ts';
import { createHealth } from '../admin/health.ts';
import { createLifecycle } from '../admin/lifecycle.ts';
import { createLogGrowth } from '../admin/log-growth.ts';
import { createMeter } from '../admin/meter.ts';
import { createUsageMetrics } from '../admin/process-usage-metrics.ts';
import type { Config } from '../config/settings.ts';
import { readTlsFiles } from '../config/tls-files.ts';
import { readWitnessPolicy } from '../config/witness-policy.ts';
import { createAnswerOnce } from '../gateway/idempotency.ts';
import type { Gateway } from '../gateway/pipeline.ts';
import { createValidate } from '../gateway/validate.ts';
import { bindOperations, boundOperation } from '../operations.ts';
import { createOpenIdIssuer } from '../outbound/openid-issuer.ts';
import { keyringOf } from '../keyring-place.ts';
import { requestClearanceOf } from '../policies/repeat-clearance.ts';
import { drain, type DrainTimes } from '../protocols/http/drain.ts';
import type { HttpServer } from '../protocols/http/http-server.ts';
import { listen } from '../protocols/http/listen.ts';
import { createListener } from '../protocols/http/listener.ts';
import type { Mount } from '../protocols/http/mount.ts';
import { LargeBodyParser } from '../protocols/input/large-body-parser.ts';
import { createCors } from '../protocols/http/cors.ts';
import { createSenders, type Senders } from '../protocols/http/senders.ts';
import { LastingAnswers } from '../protocols/streaming/lasting-answers.ts';
import { systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { loadTokenKey } from '../storage/keys/token-key.ts';
import { IndexScrubber } from '../events/index-scrubber.ts';
import { createScrubber } from '../streams/checkpoints/scrubber.ts';
import type { Telemetry } from '../telemetry.ts';
import { findJobKey } from '../work/job-keys.ts';
import { startCertificateLoop } from './certificate-loop.ts';
import { loadMounts } from './load-mounts.ts';
import { startLoops } from './loops.ts';
import { type Entrance, grpcOn, type GrpcPort } from './grpc-on.ts';
import { bodiesOn, mountsOn } from './mounts-on.ts';
import { openTelemetryOn } from './open-telemetry-on.ts';
import { ratesOn } from './rates-on.ts';
import { operationsOn, statusOn } from './operations-on.ts';
import { createStore, openData, type Store } from './store.ts';
import type { Overrides, Surroundings } from './surroundings.ts';
import { watchesOn } from './watches-on.ts';
import { createWaysOut } from './ways-out.ts';

export interface App extends AsyncDisposable {
  /** Resolves once the service is ready; throws StartError. */
  start(): Promise<Started>;
}

export interface Started {
  readonly address: string;
  /** Undefined: gRPC has no port. */
  readonly grpcPort: number | undefined;
  /** The platform Admin key, if this start has made the first one: shown only now. */
  readonly firstKey: string | undefined;
}

/** All of it stays within the 30 seconds that an orchestrator waits; the rest is for closing what is open. */
const DRAIN_TIMES: DrainTimes = { acceptGraceMs: 250, idleGraceMs: 1000, timeoutMs: 25_000 };

export async function createApp(
  config: Config,
  telemetry: Telemetry,
  overrides: Overrides = {},
): Promise<App> {
  const { clock = systemClock, random = createSystemRandom(), stopping, hasThreads = true } = overrides;
  const openTelemetry = await openTelemetryOn(overrides.otel, config, clock, telemetry);
  const { tracing, spans } = openTelemetry ?? {};
  const nextId = createUlids(clock, random);
  const around = { clock, random, nextId, telemetry, tracing, stopping, hasThreads };
  const lifecycle = createLifecycle();
  const health = createHealth(clock, lifecycle);
  const witnessPolicy = await readWitnessPolicy(config);
  const waysOut = createWaysOut(config, clock, overrides.resolveConsumer);
  let address = '';
  const publicUrl = () => (config.server.publicUrl ?? address).replace(/\/+$/, '');
  const measures = { meter: createMeter(clock), growth: createLogGrowth() };
  const own = { validate: createValidate(), waysOut, keyring: keyringOf(config), publicUrl, witnessPolicy };
  const surroundings = { ...around, ...measures, ...own, config };
  const store = createStore(surroundings, overrides.around);
  const { storage, anchor, sequencer, checkpointer, witnessing } = store;
  const scrubber = createScrubber({ trees: storage.tree, signing: store.signing, clock, random, telemetry });
  const tls = readTlsFiles(config);
  const watches = watchesOn(health, { ...store, scrubber, tls }, surroundings);

  const built = new AsyncDisposableStack();
  built.use(openTelemetry);
  const rates = await ratesOn(surroundings, health, built);
  const others = operationsOn(store, surroundings, rates);
  lifecycle.draining.addEventListener('abort', () => rates?.stopWaiting());
  const watching = { health, scrubber, watches, usage: built.use(createUsageMetrics(clock)), spans };
  const { operations: status, readings } = statusOn(store, surroundings, watching);
  const operations = bindOperations({ health, ...others, status });
  const gateway = gatewayOn(store, surroundings, { lifecycle, operations, rates }, overrides);
  const { largeBodies = new LargeBodyParser(telemetry) } = overrides;
  const lasting = new LastingAnswers(lifecycle.draining, clock);
  const entrance = { bodies: bodiesOn(clock, largeBodies), senders: sendersOn(config), lasting, tls };
  const { server, mounts } = listenerOn(gateway, surroundings, { ...overrides, ...entrance });
  const grpc = await grpcOn(gateway, entrance, surroundings);

  // The node gives up its shares once no loop works on them any more.
  const stored = [storage, store.keyUses, store.keyringWatch, anchor, store.membership];
  for (const part of [...stored, waysOut, witnessing, checkpointer, scrubber]) built.use(part);
  const indexScrubber = built.use(new IndexScrubber({ index: storage.index, clock, random, telemetry }));
  for (const follower of store.followers) built.use(follower);
  for (const part of [store.exporting, store.workers, store.sweeper, sequencer, largeBodies]) built.use(part);
  built.defer(() => drainBoth(server, grpc, overrides.drainTimes ?? DRAIN_TIMES, surroundings));
  return {
    async start() {
      address = await listen(server, config.server);
      const grpcPort = await grpc.listen();
      const servers = [server, ...grpc.servers];
      if (tls !== undefined) built.use(startCertificateLoop(tls, servers, watches, surroundings));
      const firstKey = await openData(store, surroundings);
      built.use(startLoops(store, surroundings));
      built.use(watches.start(overrides.levelPaceMs));
      built.use(store.webhooks.startStatusWatch(() => health.report()));
      for (const each of [scrubber, indexScrubber]) each.start();
      built.use(openTelemetry?.exportMetrics(readings));
      lifecycle.moveTo('Serving');
      built.use(loadMounts(mounts, surroundings));
      return { address, grpcPort, firstKey };
    },
    [Symbol.asyncDispose]: () => {
      // Balancers look elsewhere while the loops come to their end.
      lifecycle.moveTo('Draining');
      return built.disposeAsync();
    },
  };
}

function gatewayOn(
  { storage, access, tenancy, keyUses, steadyNowMs }: Store,
  surroundings: Surroundings,
  { lifecycle, operations: bound, rates }: Pick<Gateway, 'lifecycle' | 'operations' | 'rates'>,
  overrides: Overrides,
): Gateway {
  const operations = { ...bound, ...overrides.operations };
  const { config, clock, meter, growth, validate, telemetry } = surroundings;
  const tokens = createTokens(issuersOf(surroundings), clock);
  return {
    clock,
    lifecycle,
    growth,
    meter,
    versionStates: config.apiVersions,
    authenticate:
      overrides.authenticate ??
      createAuthenticate({ keys: access.keys, uses: keyUses, tokens, clock, telemetry }),
    tenancy,
    rates,
    answerOnce: createAnswerOnce(
      {
        find: (tenant, operation, key) =>
          boundOperation(operations, operation).keyKeptWith === 'Job'
            ? findJobKey(storage.work, tenant, operation, key, steadyNowMs())
            : storage.log.forTenant(tenant).usedKey(operation, key, steadyNowMs()),
        tenant: async (tenant) => (await ownerNamed(tenant, access.tenants))?.tenantRecord,
      },
      requestClearanceOf,
    ),
    validate,
    operations,
  };
}

async function drainBoth(
  server: HttpServer,
  grpc: GrpcPort,
  times: DrainTimes,
  { clock, telemetry }: Pick<Surroundings, 'clock' | 'telemetry'>,
): Promise<void> {
  const [connections] = await Promise.all([drain(server, times, clock), grpc.drain(times)]);
  if (connections > 0) telemetry.warn('requests took too long and were cut off', { connections });
}

/** The way in over HTTP, with the protocols that are mounted there. */
function listenerOn(
  gateway: Gateway,
  surroundings: Surroundings,
  { senders, tls, mounts: others, ...parts }: Pick<Overrides, 'mounts'> & Entrance,
): { server: HttpServer; mounts: readonly Mount[] } {
  const { config, clock, telemetry, tracing } = surroundings;
  const mounts = [...mountsOn(gateway, surroundings, { ...parts, tls }), ...(others?.(gateway) ?? [])];
  const server = createListener({
    mounts,
    ids: surroundings,
    clock,
    senders,
    cors: createCors(config.server.corsOrigins),
    telemetry,
    tracing,
    tls,
    isDraining: () => gateway.lifecycle.phase === 'Draining',
  });
  return { server, mounts };
}

const sendersOn = ({ server, environment }: Config): Senders =>
  createSenders(server.trustedProxies ?? (environment === 'Production' ? undefined : 'Everyone'));

/** Identity providers as the settings name them; without any the service is its own. */
function issuersOf({ config, waysOut, clock, telemetry }: Surroundings): Issuer[] {
  const { authentication, storage } = config;
  if (authentication.issuers.length === 0) {
    return [createLocalIssuer(() => loadTokenKey(storage.dataDirectory))];
  }
  const parts = { http: waysOut.identityProviders, clock, telemetry };
  return authentication.issuers.map(({ issuer, audience, jwksUri, algorithms, requireScope, ...names }) =>
    createOpenIdIssuer(
      {
        issuer,
        audience,
        jwksUri,
        algorithms,
        requiresScope: requireScope,
        claims: {
          tenant: names.tenantClaim,
          roles: names.rolesClaim,
          scopes: names.scopesClaim,
          permissions: names.permissionsClaim,
          clearance: names.clearanceClaim,
        },
      },
      parts,
    ),
  );
}
