// Exports of a service: the work that makes their files, where these are kept, and what their operations need.

import { join } from 'node:path';
import type { TenantId } from '@tallystick/contract';
import type { Access } from '../access/access.ts';
import { publishedOf } from '../events/events.ts';
import { createDeliver } from '../exports/deliver.ts';
import { deliveryWork } from '../exports/delivery-work.ts';
import { createDestinations, type Destinations } from '../exports/destinations.ts';
import { createDownload } from '../exports/download.ts';
import type { ExportFiles } from '../exports/export-files.ts';
import { createExportKeys, type ExportKeys } from '../exports/export-keys.ts';
import { createExportOperations } from '../exports/export-operations.ts';
import { exportWork } from '../exports/export-work.ts';
import { createScheduleOperations } from '../exports/schedules/schedule-operations.ts';
import { scheduleWork } from '../exports/schedules/schedule-work.ts';
import type { ExportRecord } from '../exports/export.ts';
import { createExportTold } from '../exports/export-told.ts';
import { createResidency } from '../exports/residency.ts';
import { createRemoveFiles } from '../exports/remove-files.ts';
import { startFileSweeper } from '../exports/file-sweeper.ts';
import { SharedFolder } from '../exports/shared-folder.ts';
import { servedVersion } from '../gateway/versions.ts';
import { createSecretBoxes } from '../keys/secret-box.ts';
import type { Membership } from '../nodes/membership.ts';
import type { Cursors } from '../paging.ts';
import type { Signing } from '../keys/signing.ts';
import type { LateStorage } from '../storage/late-storage.ts';
import type { Checkpointer } from '../streams/checkpoints/checkpointer.ts';
import { requireSound } from '../streams/checkpoints/provable.ts';
import type { NewestWitnessed } from '../streams/witness/newest-witnessed.ts';
import { createS3Target } from '../outbound/s3.ts';
import { createSftpTarget } from '../outbound/sftp.ts';
import type { ContentParts } from '../webhooks/contents.ts';
import type { KindOfWork } from '../work/workers.ts';
import { ExportFolder } from '../storage/export-files/export-folder.ts';
import { NodeMarkFiles } from '../storage/export-files/node-mark-files.ts';
import { linkPage } from './link-page.ts';
import { shapingOn } from './shaping.ts';
import type { Store } from './store.ts';
import type { Surroundings } from './surroundings.ts';

export interface ExportsOn extends AsyncDisposable {
  readonly files: ExportFiles;
  readonly keys: ExportKeys;
  readonly destinations: Destinations;
  readonly removeFiles: (tenant: TenantId) => Promise<void>;
  readonly told: ContentParts['exportTold'];
  readonly kinds: readonly KindOfWork[];
  readonly sharing: SharedFolder;
  startLoops(): AsyncDisposable;
}

export interface ExportsParts {
  readonly storage: LateStorage;
  readonly access: Access;
  readonly newestWitnessed: NewestWitnessed;
  readonly signing: Signing;
  readonly checkpointer: Pick<Checkpointer, 'refusalOf'>;
  readonly membership: Pick<Membership, 'nodes'>;
  readonly onEnd: (record: ExportRecord) => Promise<void>;
  readonly wakeExports: () => void;
}

export function exportsOn(
  { storage, access, newestWitnessed, signing, checkpointer, membership, onEnd, wakeExports }: ExportsParts,
  { config, clock, random, nextId, telemetry, publicUrl, hasThreads, waysOut }: Surroundings,
): ExportsOn {
  const { log, index, removal, tree: trees, records } = storage;
  const shaping = shapingOn(storage, hasThreads);
  const { exports, schedules, tenants, policies, holds, change } = access;
  const { directory = join(config.storage.dataDirectory, 'exports') } = config.exports;
  const files = new ExportFolder(directory, random);
  const boxes = createSecretBoxes(storage.secretKeys, random);
  const keys = createExportKeys(boxes, random);
  const targets = {
    Sftp: createSftpTarget({ sockets: waysOut.sftp, clock }),
    ObjectStorage: createS3Target({ http: waysOut.objectStorage, clock }),
  };
  const destinations = createDestinations(targets, boxes, createResidency(config.exports.hostsInRegions));
  const uuid = () => random.uuid();
  const common = { files, clock, telemetry };
  const reading = { shaping, log, index, removal, tenants, policies, holds };
  const publishing = publishedOf({ trees, newestWitnessed });
  let page: Promise<string> | undefined;
  const work = exportWork({
    ...common,
    ...reading,
    publishedOf: publishing,
    trees,
    signing,
    requireSound: (tenant) => requireSound(tenant, checkpointer),
    page: () => (page ??= linkPage()),
    exports,
    keys,
    change,
    nextId,
    uuid,
    onEnd,
  });
  const changing = { ...common, exports, tenants, keys, destinations, change, nextId, uuid };
  const deliveries = deliveryWork({ ...changing, targets });
  const scheduled = scheduleWork({ ...changing, schedules, wakeExports });
  const marks = new NodeMarkFiles(directory);
  const nodes = () => membership.nodes();
  const sharing = new SharedFolder({ marks, nodes, clock, random, telemetry, directory });
  const told = createExportTold({ exports, keys, files, clock, apiUrl: apiUrlOf({ config, publicUrl }) });
  return {
    files,
    keys,
    destinations,
    told,
    removeFiles: createRemoveFiles({ exports, files }),
    kinds: [work, deliveries, scheduled],
    sharing,
    startLoops() {
      const loops = new AsyncDisposableStack();
      loops.use(startFileSweeper({ ...common, random, records }));
      loops.use(sharing.start());
      return loops;
    },
    [Symbol.asyncDispose]: () => shaping[Symbol.asyncDispose](),
  };
}

function apiUrlOf({ config, publicUrl }: Pick<Surroundings, 'config' | 'publicUrl'>): () => string {
  return () => `${publicUrl()}/api/${servedVersion(config.apiVersions)}`;
}

export function exportOperations(
  { access, storage, tenancy, sequencer, exporting, workers, steadyNowMs }: Store,
  cursors: Cursors,
  { config, clock, nextId, random, telemetry, publicUrl }: Surroundings,
) {
  const { exports, change } = access;
  const { files, keys, destinations } = exporting;
  const common = { exports, keys, files, tenancy, clock, nextId, telemetry };
  return {
    ...createExportOperations({
      ...common,
      change,
      cursors,
      destinations,
      steadyNowMs,
      work: storage.work,
      apiUrl: apiUrlOf({ config, publicUrl }),
      wake: () => workers.wake('Export'),
    }),
    'exports.deliver': createDeliver({
      ...common,
      change,
      destinations,
      steadyNowMs,
      wakeDelivery: () => workers.wake('ExportDelivery'),
    }),
    ...createScheduleOperations({
      ...common,
      schedules: access.schedules,
      log: storage.log,
      change,
      cursors,
      destinations,
      steadyNowMs,
      work: storage.work,
    }),
    'exports.download': createDownload({ ...common, sequencer, uuid: () => random.uuid() }),
  };
}
