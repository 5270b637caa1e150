// The composition root of the service: everything is built here, by hand, and handed what it needs. Only this file,
// and operate for the command line, names concrete adapters. `start` listens first, so that probes are answered
// while the rest comes up; disposal takes down in the reverse order of building.

import { join } from 'node:path';
import { asJson, EventDraft, operationNamed, type TenantId } from '@tallystick/contract';
import type { WitnessPolicy } from '@tallystick/evidence';
import { type Authenticate, createAuthenticate } from './access/credentials.ts';
import { settleFirstKey } from './access/first-key.ts';
import { createKeyChanges } from './access/key-changes.ts';
import { createKeyOperations } from './access/key-operations.ts';
import { createLocalIssuer } from './access/local-issuer.ts';
import { createTenancy, type Tenancy } from './access/tenancy.ts';
import { createTokens, type Issuer } from './access/tokens.ts';
import { createDeadLetters } from './admin/dead-letters.ts';
import { createHealth } from './admin/health.ts';
import { createLifecycle } from './admin/lifecycle.ts';
import { createRebuild } from './admin/rebuild.ts';
import type { Config } from './config/settings.ts';
import { readTlsFiles } from './config/tls-files.ts';
import { readWitnessPolicy } from './config/witness-policy.ts';
import { createEvents } from './events/events.ts';
import { createFollower, type Follower, viewsCheck } from './followers/follower.ts';
import { createCursors } from './gateway/cursors.ts';
import { createAnswerOnce } from './gateway/idempotency.ts';
import type { Gateway } from './gateway/pipeline.ts';
import { createRules, createValidate, type Validate } from './gateway/validate.ts';
import { messageFor } from './gateway/violations.ts';
import { startOwedNotices } from './keys/owed-notices.ts';
import { createSigning, type Signing } from './keys/signing.ts';
import { bindOperations, type Operations } from './operations.ts';
import { createOpenIdIssuer } from './outbound/openid-issuer.ts';
import { collectCosignatures } from './outbound/witness.ts';
import { drain, type DrainTimes } from './protocols/rest/drain.ts';
import { listen } from './protocols/rest/listen.ts';
import { createRestServer } from './protocols/rest/server.ts';
import { type Clock, systemClock } from './runtime/clock.ts';
import { createUlids } from './runtime/ids.ts';
import { createSystemRandom, type Random } from './runtime/random.ts';
import { createSteadyTime } from './runtime/steady-time.ts';
import { dataDirectoryCheck, openDataDirectory } from './storage/data-directory.ts';
import { openAnchorFile } from './storage/anchor-file.ts';
import { createLateAnchor, type LateAnchor } from './storage/late-anchor.ts';
import { createLateStorage, type LateStorage } from './storage/late-storage.ts';
import { readOwedNotices } from './storage/owed-notice-files.ts';
import { openSigningKeys, requireSigningKeys, SIGNING_KEYS_FOLDER } from './storage/signing-key-files.ts';
import { openSqliteStorage } from './storage/sqlite/sqlite-storage.ts';
import { loadTokenKey } from './storage/token-key.ts';
import { removeDrafts } from './storage/whole-file.ts';
import { startKeySweeper } from './streams/key-sweeper.ts';
import { logCheck, startLogWatch } from './streams/log-watch.ts';
import { type Checkpointer, createCheckpointer } from './streams/checkpointer.ts';
import type { LogWriter } from './streams/log.ts';
import { createNewestWitnessed, NOBODY_WITNESSES, type NewestWitnessed } from './streams/newest-witnessed.ts';
import { createScrubber } from './streams/scrubber.ts';
import { startSealer } from './streams/sealer.ts';
import { createSequencer, type Sequencer } from './streams/sequencer.ts';
import { createStreams, type StreamsParts } from './streams/streams.ts';
import type { Standing } from './streams/tree.ts';
import type { AskWitnesses } from './streams/witness-answers.ts';
import { createWitnessed, type Witnessed } from './streams/witnessed.ts';
import { createWitnessing, type Witnessing } from './streams/witnessing.ts';
import type { Telemetry } from './telemetry.ts';

export interface App extends AsyncDisposable {
  /** Resolves once the service is ready; throws StartError. */
  start(): Promise<Started>;
}

export interface Started {
  readonly address: string;
  /** The platform Admin key, if this start has made the first one: shown now or never. */
  readonly firstKey: string | undefined;
}

/** What a test may put in place of the real thing. */
export interface Overrides {
  readonly clock?: Clock;
  readonly random?: Random;
  readonly authenticate?: Authenticate;
  /** Take the place of bound operations, or are added to them. */
  readonly operations?: Operations;
  readonly drainTimes?: DrainTimes;
  /** Stands between the sequencer and the real log, for tests that take a safeguard away. */
  readonly around?: (log: LogWriter) => LogWriter;
}

/** What keeps the data: handed out before it is open, and opened when the service starts. */
interface Store {
  readonly storage: LateStorage;
  readonly anchor: LateAnchor;
  readonly signing: Signing;
  readonly sequencer: Sequencer;
  readonly checkpointer: Checkpointer;
  /** Undefined: there are no witnesses. */
  readonly witnessing: Witnessing | undefined;
  readonly witnessed: Witnessed;
  readonly newestWitnessed: NewestWitnessed;
  readonly tenancy: Tenancy;
  /** Keeps the index of events after the log. */
  readonly projector: Follower;
  /** Time that no jump of the wall clock moves. */
  readonly steadyNowMs: () => number;
}

/** All of it stays within the 30 seconds that an orchestrator waits; the rest is for closing what is open. */
const DRAIN_TIMES: DrainTimes = { acceptGraceMs: 250, idleGraceMs: 1000, timeoutMs: 25_000 };

export async function createApp(
  config: Config,
  telemetry: Telemetry,
  overrides: Overrides = {},
): Promise<App> {
  const { clock = systemClock, random = createSystemRandom() } = overrides;
  const nextId = createUlids(clock, random);
  const lifecycle = createLifecycle();
  const health = createHealth(clock, lifecycle);
  const witnessPolicy = await readWitnessPolicy(config);
  const validate = createValidate();
  const surroundings = { config, clock, random, nextId, telemetry, validate, witnessPolicy };
  const store = createStore(surroundings, overrides.around);
  const { storage, anchor, sequencer, checkpointer, witnessing, tenancy, steadyNowMs } = store;
  health.add(dataDirectoryCheck(config.storage.dataDirectory));
  const scrubber = createScrubber({ trees: storage.tree, signing: store.signing, clock, random, telemetry });
  health.add(logCheck({ ...store, scrubber }));
  health.add(viewsCheck(store.projector));

  const { streams, ...others } = operationsOn(store, surroundings);
  const operations = bindOperations({ health, ...others, streams: streams.operations });
  const tokens = createTokens(issuersOf(config), clock);
  const gateway: Gateway = {
    clock,
    lifecycle,
    versionStates: config.apiVersions,
    authenticate: overrides.authenticate ?? createAuthenticate({ keys: storage.apiKeys, tokens, clock }),
    tenancy,
    answerOnce: createAnswerOnce({
      find: (tenant, operation, key) => storage.log.forTenant(tenant).usedKey(operation, key, steadyNowMs()),
    }),
    validate,
    operations: { ...operations, ...overrides.operations },
  };
  const tls = readTlsFiles(config);
  const isTls = tls !== undefined || config.server.publicUrl?.startsWith('https:') === true;
  const server = createRestServer({ gateway, ids: { random, nextId }, telemetry, tls, isTls });

  const built = new AsyncDisposableStack();
  built.use(storage);
  built.use(anchor);
  built.use(witnessing);
  built.use(checkpointer);
  built.use(scrubber);
  built.use(store.projector);
  built.use(streams);
  built.use(sequencer);
  built.defer(async () => {
    lifecycle.moveTo('Draining');
    const connections = await drain(server, overrides.drainTimes ?? DRAIN_TIMES, clock);
    if (connections > 0) telemetry.warn('requests took too long and were cut off', { connections });
  });
  return {
    async start() {
      const address = await listen(server, config.server);
      const firstKey = await openData(store, surroundings);
      built.use(startLoops(store, surroundings));
      scrubber.start();
      lifecycle.moveTo('Serving');
      return { address, firstKey };
    },
    [Symbol.asyncDispose]: () => built.disposeAsync(),
  };
}

/** What goes on by itself from now on. */
function startLoops(
  { storage, sequencer, checkpointer, witnessing, projector, steadyNowMs }: Store,
  { config, clock, random, telemetry }: Surroundings,
): AsyncDisposable {
  const loops = new AsyncDisposableStack();
  const looping = { clock, random, telemetry };
  const sweeping = { ...looping, writer: storage.log, steadyNowMs };
  loops.use(startKeySweeper(sweeping));
  const refusedTenants = () => checkpointer.refusedTenants();
  loops.use(startSealer({ ...sweeping, streams: config.streams, refusedTenants }));
  loops.use(startLogWatch({ ...looping, sequencer }));
  const read = () => readOwedNotices(config.storage.dataDirectory);
  const refusalOf = (tenant: TenantId) => checkpointer.refusalOf(tenant);
  loops.use(startOwedNotices({ ...looping, read, trees: storage.tree, refusalOf, sequencer }));
  checkpointer.start();
  witnessing?.start();
  projector.start();
  return loops;
}

function createStore(surroundings: Surroundings, around: Overrides['around']): Store {
  const { config, clock, random, telemetry } = surroundings;
  const storage = createLateStorage();
  const anchor = createLateAnchor();
  const signing = createSigning(clock);
  const steadyNowMs = createSteadyTime(clock);
  const { ms: intervalMs } = config.log.checkpointInterval;
  const witnesses = witnessesOf(storage, surroundings);
  const { witnessing } = witnesses;
  const checkpointer = createCheckpointer({
    tree: storage.tree,
    anchor,
    signing,
    clock,
    random,
    telemetry,
    intervalMs,
    onPublished: (tenant) => witnessing?.published(tenant),
  });
  const following = { name: 'the index of events', followed: storage.index, clock, random, telemetry };
  const projector = createFollower(following);
  const sequencer = createSequencer({
    writer: around?.(storage.log) ?? storage.log,
    clock,
    steadyNowMs,
    refusalOf: (tenant) => checkpointer.refusalOf(tenant),
    onCommitted: () => projector.wake(),
    onFailure: (error) => telemetry.error('events could not be stored', error),
  });
  const tenancy = createTenancy({ tenants: storage.tenants, clock, ...config.tenants });
  return { storage, anchor, signing, sequencer, checkpointer, ...witnesses, tenancy, projector, steadyNowMs };
}

function witnessesOf(
  { tree }: LateStorage,
  { witnessPolicy: policy, clock, random, telemetry }: Surroundings,
): Pick<Store, 'witnessing' | 'witnessed' | 'newestWitnessed'> {
  const witnessed = createWitnessed(policy);
  if (policy === undefined) return { witnessing: undefined, witnessed, newestWitnessed: NOBODY_WITNESSES };
  const newestWitnessed = createNewestWitnessed({ witnessed, trees: tree });
  const ask: AskWitnesses = (asking) => collectCosignatures({ ...asking, clock });
  const onCosigned = newestWitnessed.cosigned.bind(newestWitnessed);
  const parts = { policy, trees: tree, writer: tree, ask, clock, random, telemetry, onCosigned };
  return { witnessing: createWitnessing(parts), witnessed, newestWitnessed };
}

/** Opens the data directory and makes sure that somebody has a key; gives that key if it is new. */
async function openData(
  { storage, anchor, signing, checkpointer }: Store,
  { config, clock, random, nextId, telemetry }: Surroundings,
): Promise<string | undefined> {
  const { dataDirectory: directory } = config.storage;
  const { origin: logOrigin, anchor: anchorPath = directory } = config.log;
  await openDataDirectory(directory);
  const onFailure = (error: unknown) => telemetry.error('keys or tenants could not be written', error);
  const onIndexTrouble = (what: string, error: Error | undefined) =>
    error === undefined ? telemetry.warn(what) : telemetry.error(what, error);
  const ways = { threads: true, exclusive: true, onFailure, onIndexTrouble, onFatal };
  const { streams } = config;
  const opened = await openSqliteStorage({ directory, logOrigin, streams, clock, random, ...ways });
  storage.use(opened);
  await removeLeftDrafts(directory, clock, telemetry);
  anchor.use(await openAnchorFile(anchorPath));
  // The anchor may be gone together with the keys; a log in a later epoch was signed in the one before.
  const isSigned = ({ checkpoint, epoch }: Standing) => checkpoint !== undefined || epoch > 0;
  if (!anchor.isNew || (await opened.tree.standings()).some(isSigned)) await requireSigningKeys(directory);
  signing.use(await openSigningKeys(directory, clock.now()));
  await checkpointer.settle(opened.logOrigin);
  const parts = { keys: storage.apiKeys, clock, random, nextId };
  const first = await settleFirstKey(config.adminKey?.reveal(), parts);
  if (first.outcome === 'GivenButUseless') {
    const { keyId } = first;
    telemetry.warn(
      'TALLYSTICK_ADMIN_KEY names a key that was revoked, has expired, or is no platform Admin key',
      { keyId },
    );
  }
  return first.outcome === 'Made' ? first.key : undefined;
}

/** Under the lock, so that no other service makes any; the command line may, and one that is young is left to it. */
async function removeLeftDrafts(directory: string, clock: Clock, telemetry: Telemetry): Promise<void> {
  try {
    for (const folder of [directory, join(directory, SIGNING_KEYS_FOLDER)])
      await removeDrafts(folder, clock.now());
  } catch (error) {
    telemetry.warn('what a crash has left of files could not be removed', { cause: String(error) });
  }
}

/** Without the threads that write and read, nothing can be promised any more: the process ends. */
function onFatal(error: Error): void {
  throw error;
}

/** Identity providers as the settings name them; without any the service is its own. */
function issuersOf({ authentication, storage }: Config): Issuer[] {
  if (authentication.issuers.length === 0) {
    return [createLocalIssuer(() => loadTokenKey(storage.dataDirectory))];
  }
  return authentication.issuers.map(({ issuer, audience, jwksUri, algorithms, requireScope, ...names }) =>
    createOpenIdIssuer({
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
    }),
  );
}

interface Surroundings {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextId: () => string;
  readonly telemetry: Telemetry;
  readonly validate: Validate;
  readonly witnessPolicy: WitnessPolicy | undefined;
}

function operationsOn(store: Store, surroundings: Surroundings) {
  const { clock } = surroundings;
  const { storage, checkpointer, signing, steadyNowMs, witnessed, newestWitnessed } = store;
  const reading = {
    log: storage.log,
    trees: storage.tree,
    checkpointer,
    signing,
    steadyNowMs,
    clock,
    nextId: surroundings.nextId,
    telemetry: surroundings.telemetry,
    cursors: createCursors({ keyOf: ({ fingerprintKey }) => fingerprintKey, clock }),
    witnessed,
    newestWitnessed,
  };
  return {
    events: eventOperations(store, reading, surroundings),
    streams: createStreams(reading),
    apiKeys: keyOperations(store, surroundings),
    admin: adminOperations(store, reading, surroundings),
  };
}

type Reading = Omit<StreamsParts, 'clock'>;

function eventOperations(
  { storage, sequencer, tenancy }: Store,
  reading: Reading,
  { config, clock, random, nextId, telemetry, validate }: Surroundings,
) {
  const batch = operationNamed('events.ingestBatch');
  return createEvents({
    ...reading,
    index: storage.index,
    sequencer,
    tenancy,
    clock,
    telemetry,
    ids: { nextId, uuid: () => random.uuid() },
    fields: { violations: createRules(asJson(EventDraft)), message: messageFor },
    validateEnvelope: (received) => validate(batch, received),
    requireActorIdentity: config.events.requireActorIdentity,
  });
}

function adminOperations(
  { storage, projector }: Store,
  { cursors }: Reading,
  { clock, nextId }: Surroundings,
) {
  const { index } = storage;
  return {
    ...createRebuild({ rebuilds: index, clock, nextId, wake: () => projector.wake() }),
    ...createDeadLetters({ letters: index, cursors, clock }),
  };
}

function keyOperations(
  { storage, sequencer, tenancy, steadyNowMs }: Store,
  { clock, random, nextId, telemetry }: Surroundings,
) {
  const keys = storage.apiKeys;
  const changes = createKeyChanges({
    keys,
    provide: (tenantId) => tenancy.provide(tenantId),
    append: (request) => sequencer.append(request),
    clock,
    random,
    nextId,
    telemetry,
  });
  return createKeyOperations({ keys, changes, clock, steadyNowMs });
}
