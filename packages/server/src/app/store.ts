// Puts together the parts that keep the data of a service: storage, anchor, signing, sequencer, checkpointer,
// witnesses, tenancy, and the index that follows the log. Handed out before it is open, and opened when the service
// starts.

import { join, resolve } from 'node:path';
import type { TenantId } from '@tallystick/contract';
import { INSTALLATION, logNamed, originOf } from '@tallystick/evidence';
import { settleFirstKey } from '../access/first-key.ts';
import { type Access, createAccess } from '../access/access.ts';
import { createKeyUses, type KeyUses } from '../access/key-uses.ts';
import { createTenancy, type Tenancy } from '../access/tenancy.ts';
import { adoptOlderKeys } from '../access/older-keys.ts';
import { measureLog } from '../admin/measured-log.ts';
import { rebuildWork } from '../admin/rebuild.ts';
import { anchorPlace } from '../config/anchor-place.ts';
import type { Config } from '../config/settings.ts';
import { indexEventWork } from '../events/index-event-work.ts';
import { holdCountWork } from '../holds/hold-count.ts';
import type { ExportRecord } from '../exports/export.ts';
import { createSigning, type Signing } from '../keys/signing.ts';
import { collectCosignatures } from '../outbound/witness.ts';
import { erasureWork } from '../redaction/erasure-work.ts';
import { redactionWork } from '../redaction/finish-redactions.ts';
import type { Clock } from '../runtime/clock.ts';
import { createSteadyTime } from '../runtime/steady-time.ts';
import { createSweeping, type Sweeping } from './sweeping.ts';
import { createMembership, type Membership } from '../nodes/membership.ts';
import type { News } from '../nodes/nodes.ts';
import { StartError } from '../start-error.ts';
import { hasAnchor } from '../storage/anchor/files.ts';
import { openNodesAnchor, openOwnAnchor } from '../storage/anchor/file-anchor.ts';
import { openDataDirectory } from '../storage/files/data-directory.ts';
import { createLateAnchor, type LateAnchor } from '../storage/anchor/late-anchor.ts';
import { createLateStorage, type LateStorage } from '../storage/late-storage.ts';
import {
  openSigningKeys,
  requireSigner,
  requireSigningKeys,
  SIGNING_KEYS_FOLDER,
} from '../storage/keys/signing-key-files.ts';
import { destroyTenantKeys } from '../storage/sealing/destroy-keys.ts';
import type { Storage } from '../storage/storage.ts';
import { removeDrafts } from '../storage/files/whole-file.ts';
import type { Anchor } from '../streams/anchor/anchor.ts';
import { type Checkpointer, createCheckpointer } from '../streams/checkpoints/checkpointer.ts';
import {
  createNewestWitnessed,
  type NewestWitnessed,
  NOBODY_WITNESSES,
} from '../streams/witness/newest-witnessed.ts';
import { installationNotice } from '../streams/append/installation-notice.ts';
import type { AppendRequest } from '../streams/log.ts';
import { createSequencer, type Sequencer } from '../streams/append/sequencer.ts';
import { traceAppends } from '../streams/append/traced-append.ts';
import type { Standing } from '../streams/tree.ts';
import type { AskWitnesses } from '../streams/witness/ask-witnesses.ts';
import { isAnchorLost, isSigned, lostAnchorMessage } from '../streams/anchor/unanchored.ts';
import { createWitnessed, type Witnessed } from '../streams/witness/witnessed.ts';
import { createWitnessing, type Witnessing } from '../streams/witness/witnessing.ts';
import { verificationWork } from '../streams/verification/verifications.ts';
import { KeyringWatch } from '../storage/sealing/keyring-watch.ts';
import type { Telemetry } from '../telemetry.ts';
import { ANSWER_WORK } from '../work/job-keys.ts';
import { originOfDelivery } from '../webhooks/traced-consumers.ts';
import { traceWork } from '../work/traced-work.ts';
import { createWorkers, type KindOfWork, type Workers } from '../work/workers.ts';
import { type ExportsOn, exportsOn } from './exports-on.ts';
import type { Webhooks } from './webhooks-on.ts';
import { nodeName } from './node-name.ts';
import { whileBusy } from './busy-database.ts';
import { openStorage } from './open-storage.ts';
import { type Followers, followersOn } from './followers-on.ts';
import type { Overrides, Surroundings } from './surroundings.ts';

/** Appending counts as busy for this long after a pool had to wait for the previous one. */
const PRESSED_MS = 100;

export interface Store extends Followers, Sweeping {
  readonly storage: LateStorage;
  readonly anchor: LateAnchor;
  readonly signing: Signing;
  readonly sequencer: Sequencer;
  readonly checkpointer: Checkpointer;
  /** Undefined: there are no witnesses. */
  readonly witnessing: Witnessing | undefined;
  readonly witnessed: Witnessed;
  readonly newestWitnessed: NewestWitnessed;
  readonly access: Access;
  readonly tenancy: Tenancy;
  readonly keyUses: KeyUses;
  readonly exporting: ExportsOn;
  readonly keyringWatch: KeyringWatch;
  /** Run the jobs. */
  readonly workers: Workers;
  /** This process among others on the same store. */
  readonly membership: Membership;
  /** Time that no jump of the wall clock moves. */
  readonly steadyNowMs: () => number;
}

export function createStore(surroundings: Surroundings, around: Overrides['around']): Store {
  const { clock, random, telemetry, tracing, meter, growth } = surroundings;
  const storage = createLateStorage();
  const anchor = createLateAnchor();
  const signing = createSigning(clock);
  const steadyNowMs = createSteadyTime(clock);
  const witnesses = witnessesOf(storage, surroundings, () => membership.areOthers());
  const { witnessing } = witnesses;
  const word = () => ({ refused: checkpointer.findings(), isAble: checkpointer.isAble() });
  const nodes = () => storage.nodes;
  const membership = createMembership({ nodes, word, onNews, clock, random, telemetry });
  const checkpointer = checkpointerOn({ storage, anchor, signing, witnessing, membership }, surroundings);
  const access = accessOn(storage, signing, (request) => sequencer.append(request), surroundings);
  const isPressed = () => sequencer.figures().pressedMsAgo < PRESSED_MS;
  // Its subscribers are told of the end of an export, and read then what it is.
  const onEnd = (record: ExportRecord) => following.webhooks.tellOfExport(record);
  const telling = { onEnd, wakeExports: () => work.workers.wake('Export') };
  const made = { storage, ...access, newestWitnessed: witnesses.newestWitnessed, signing };
  const exporting = exportsOn({ ...made, checkpointer, membership, ...telling }, surroundings);
  const { wakeFollowers, ...following } = followersOn(
    {
      storage,
      access: access.access,
      append: (request) => sequencer.append(request),
      newestWitnessed: witnesses.newestWitnessed,
      membership,
      wake: (kind) => work.workers.wake(kind),
      isPressed,
      exportTold: exporting.told,
    },
    surroundings,
  );
  const traced = traceAppends(tracing);
  const plain = createSequencer({
    writer: traced.log(measureLog(around?.(storage.log) ?? storage.log, meter, growth, clock)),
    clock,
    steadyNowMs,
    refusalOf: (tenant) => checkpointer.refusalOf(tenant),
    onCommitted() {
      wakeFollowers();
      membership.tell('Appended');
    },
    onFailure: (error) => telemetry.error('events could not be stored', error),
  });
  const sequencer = traced.sequencer(plain);
  function onNews(news: News | 'Gained'): void {
    if (news === 'Appended' || news === 'Gained') wakeFollowers();
    if (news === 'CheckpointWanted' || news === 'Gained') checkpointer.wake();
    if (news === 'Published') checkpointer.publishedElsewhere();
  }
  const forgetting = { removeFiles: exporting.removeFiles, forgetAnswers: following.webhooks.forgetAnswers };
  const doing = { signing, checkpointer, sequencer, ...forgetting, ...access };
  const others = [...following.webhooks.kinds, ...exporting.kinds, ANSWER_WORK];
  const work = workOn(storage, doing, others, surroundings);
  return {
    storage,
    anchor,
    signing,
    sequencer,
    checkpointer,
    ...witnesses,
    ...access,
    ...following,
    ...work,
    exporting,
    keyringWatch: new KeyringWatch(surroundings.keyring, () => storage.tenantKeys.ringKeys()),
    membership,
    steadyNowMs,
  };
}

function checkpointerOn(
  {
    storage,
    anchor,
    signing,
    witnessing,
    membership,
  }: Pick<Store, 'storage' | 'anchor' | 'signing' | 'witnessing' | 'membership'>,
  { config, clock, random, telemetry }: Surroundings,
): Checkpointer {
  return createCheckpointer({
    tree: storage.tree,
    anchor,
    signing,
    clock,
    random,
    telemetry,
    intervalMs: config.log.checkpointInterval.ms,
    onPublished(tenant) {
      witnessing?.published(tenant);
      membership.tell('Published');
    },
    onWanted: () => membership.tell('CheckpointWanted'),
    elsewhere: membership,
  });
}

type WorkingParts = Pick<Store, 'signing' | 'checkpointer' | 'sequencer' | 'access'> &
  Pick<ExportsOn, 'removeFiles'> &
  Pick<Webhooks, 'forgetAnswers'>;

/** Every kind of job with its handler, and the loop that looks for content to remove. */
function workOn(
  storage: LateStorage,
  { signing, access, removeFiles, forgetAnswers, ...rest }: WorkingParts,
  others: readonly KindOfWork[],
  surroundings: Surroundings,
): Pick<Store, 'workers'> & Sweeping {
  const { work, index, tree: trees, log, removal, violations } = storage;
  const { clock, random, telemetry, tracing, nextId, keyring } = surroundings;
  const { change, tenants, erasures, holds } = access;
  const clearing = { removeFiles, forgetAnswers };
  const removing = { log, removal, trees, violations, index, ...clearing, ...rest };
  const erasing = { ...removing, ...rest, work, change, tenants, erasures, clock, nextId, telemetry };
  const wake = () => workers.wake('Purge');
  const sweeping = createSweeping({ storage, ...rest, tenants, signing, wake }, surroundings);
  const kinds = [
    rebuildWork(index, { work, clock }),
    indexEventWork(index),
    holdCountWork({ log, holds, clock }),
    verificationWork({ trees, signing, telemetry }),
    redactionWork(removing),
    erasureWork({
      ...erasing,
      uuid: () => random.uuid(),
      destroyKeys: (tenant) =>
        destroyTenantKeys(tenant, {
          keys: storage.tenantKeys,
          place: keyring,
          nowMs: clock.now(),
        }),
    }),
    sweeping.purging,
    ...others,
  ];
  const traced = kinds.map((kind) =>
    tracing === undefined ? kind : traceWork(kind, tracing, (job) => originOfDelivery(job, tracing)),
  );
  const workers = createWorkers({ store: work, kinds: traced, clock, random, telemetry });
  return { ...sweeping, workers };
}

function accessOn(
  storage: LateStorage,
  signing: Signing,
  append: (request: AppendRequest) => ReturnType<Sequencer['append']>,
  { config, clock, random, nextId, telemetry }: Surroundings,
): Pick<Store, 'access' | 'tenancy' | 'keyUses'> {
  const { records, tenants, log } = storage;
  const provide = (tenantId: string) => tenancy.provide(tenantId);
  const logOrigin = () => storage.logOrigin;
  const stored = { records, tenants, log };
  const parts = { ...stored, signing, logOrigin, append, provide, clock, random, nextId, telemetry };
  const access = createAccess(parts);
  const tenancy = createTenancy({ tenants: access.tenants, clock, ...config.tenants });
  return {
    access,
    tenancy,
    keyUses: createKeyUses({ store: storage.keyUses, clock, random, telemetry }),
  };
}

function witnessesOf(
  { tree }: LateStorage,
  { witnessPolicy: policy, clock, random, telemetry, waysOut }: Surroundings,
  areOthers: () => boolean,
): Pick<Store, 'witnessing' | 'witnessed' | 'newestWitnessed'> {
  const witnessed = createWitnessed(policy);
  if (policy === undefined) return { witnessing: undefined, witnessed, newestWitnessed: NOBODY_WITNESSES };
  const others = { areThere: areOthers, clock };
  const newestWitnessed = createNewestWitnessed({ witnessed, trees: tree, others });
  const http = waysOut.witnesses;
  const ask: AskWitnesses = (asking) => collectCosignatures({ ...asking, http, clock });
  const onCosigned = newestWitnessed.cosigned.bind(newestWitnessed);
  const parts = { policy, trees: tree, writer: tree, ask, clock, random, telemetry, onCosigned };
  return { witnessing: createWitnessing(parts), witnessed, newestWitnessed };
}

/** Opens the data directory and makes sure that there is a key; returns the key if it is new. */
export async function openData(
  { storage, anchor, signing, sequencer, checkpointer, keyringWatch, membership, access }: Store,
  surroundings: Surroundings,
): Promise<string | undefined> {
  const { config, clock, random, telemetry } = surroundings;
  const { dataDirectory: directory } = config.storage;
  await openDataDirectory(directory);
  const patiently = <T>(work: () => Promise<T>) => whileBusy(surroundings, work);
  const opened = await patiently(() => openStorage(surroundings, (ring) => keyringWatch.opened(ring)));
  storage.use(opened);
  await removeLeftDrafts(directory, clock, telemetry);
  // Opening makes the file, and a lost anchor must not come back empty.
  if (!(await hasAnchor(anchorPlace(config))))
    await requireNothingLogged(await patiently(() => opened.tree.standings()), config);
  anchor.use(await openAnchor(config));
  const standings = await patiently(() => opened.tree.standings());
  if (config.storage.url !== undefined) requireOwnDatabase(anchor, standings);
  // The anchor may be gone together with the keys.
  if (anchor.heads().size > 0 || standings.some(isSigned)) await requireSigningKeys(directory);
  const keys = await openSigningKeys(directory, clock.now());
  await patiently(() => requireSigner(opened, keys.keys(), directory));
  await requireAnchor({ anchor, logOrigin: opened.logOrigin }, standings, config);
  signing.use(keys);
  await patiently(() => checkpointer.settle(opened.logOrigin));
  await patiently(() => membership.join());
  await patiently(() => adoptUnlessAnchored(opened, { anchor, access, sequencer }, surroundings));
  const hasLogged = async () => (await opened.log.forTenant(INSTALLATION).streamCount()) > 0;
  const parts = { keys: access.keys, changes: access.keyChanges, hasLogged, clock, random };
  const first = await patiently(() => settleFirstKey(config.adminKey?.reveal(), parts));
  if (first.outcome === 'GivenButUseless') {
    const { keyId } = first;
    telemetry.warn(
      'TALLYSTICK_ADMIN_KEY names a key that was revoked, has expired, or is no platform Admin key',
      { keyId },
    );
  }
  for (const tenant of config.tenants.names ?? [])
    await patiently(() => access.tenants.ensure(tenant as TenantId, clock.now()));
  return first.outcome === 'Made' ? first.key : undefined;
}

/** Keys of an older version count from now on as those of this one do; rows that came later do not. */
async function adoptUnlessAnchored(
  { logOrigin, olderKeys: older }: Storage,
  { anchor, access, sequencer }: Pick<Store, 'anchor' | 'access' | 'sequencer'>,
  { clock, random, nextId, telemetry }: Surroundings,
): Promise<void> {
  const { keys, change, installation } = access;
  const origins = [...anchor.heads().keys()];
  // Somebody who can write to the store could also rename it, so that the anchor does not know it.
  const isOurs = origins.every((origin) => logNamed(origin, logOrigin) !== undefined);
  if (!isOurs || origins.includes(originOf({ tenant: INSTALLATION, epoch: 0 }, logOrigin))) return;
  const adopted = await adoptOlderKeys({ older, keys, change, random });
  if (adopted === 0) return;
  telemetry.info('API keys of an older version are records now', { adopted });
  // This notice records, and anchors, that there are no more of them.
  await installation();
  const resource = { resourceType: 'Installation', resourceId: logOrigin };
  const act = { act: 'KeysAdopted', action: 'Adopt.ApiKeys', resource, count: adopted } as const;
  await sequencer.append(installationNotice(act, { clock, random, nextId }));
}

/** With the URL of a wrong database the service would begin anew in it, and nobody would notice until events are missed. */
function requireOwnDatabase(anchor: Pick<Anchor, 'heads'>, standings: readonly Standing[]): void {
  const { size } = anchor.heads();
  if (size === 0 || standings.length > 0) return;
  throw new StartError(
    `the anchor knows of ${size} signed ${size === 1 ? 'log' : 'logs'}, and the database has none: look at Storage__Url, or put back a copy of the database; for a new installation name another data directory and another Log__Anchor`,
  );
}

/**
 * If somebody took the anchor away, they may have put the store back as well, and everything signed from here on would
 * hide it. With all of it gone every log that was signed is affected, so nothing is served; where single logs are
 * missing from it, those are refused by the checkpointer. Nothing is anchored before that, so another start finds the
 * same. Throws StartError.
 */
async function requireAnchor(
  known: { readonly anchor: Anchor; readonly logOrigin: string },
  standings: readonly Standing[],
  config: Config,
): Promise<void> {
  // Another node may have signed its first log since the anchor was opened.
  if (isAnchorLost(standings, known)) await known.anchor.refresh();
  if (isAnchorLost(standings, known)) throw new StartError(lostAnchorMessage(resolve(anchorPlace(config))));
}

/** Throws StartError: before the first event there was an anchor, so it is lost, perhaps together with the keys. */
async function requireNothingLogged(standings: readonly Standing[], config: Config): Promise<void> {
  // Another node may have begun at the same moment: its anchor is there before anything is logged.
  if (standings.length === 0 || (await hasAnchor(anchorPlace(config)))) return;
  if (standings.some(isSigned)) await requireSigningKeys(config.storage.dataDirectory);
  throw new StartError(lostAnchorMessage(resolve(anchorPlace(config))));
}

/** One file, which this service has for itself, or one of each node that serves from the database. Throws StartError. */
function openAnchor(config: Config): Promise<Anchor> {
  const { url } = config.storage;
  const place = anchorPlace(config);
  return url === undefined
    ? openOwnAnchor(place)
    : openNodesAnchor({ directory: place, node: nodeName(config) });
}

/** Other nodes and the command line may be making some, so young ones stay. */
async function removeLeftDrafts(directory: string, clock: Clock, telemetry: Telemetry): Promise<void> {
  try {
    for (const folder of [directory, join(directory, SIGNING_KEYS_FOLDER)])
      await removeDrafts(folder, clock.now());
  } catch (error) {
    telemetry.warn('files left by a crash could not be removed', { cause: String(error) });
  }
}
