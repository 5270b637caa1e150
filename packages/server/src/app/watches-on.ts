// What health looks at: the checks by name, and the watches whose findings they show.

import { join } from 'node:path';
import { withAltered } from '../access/altered-tenants.ts';
import { watchCertificate } from '../admin/certificate-watch.ts';
import { watchClock } from '../admin/clock-watch.ts';
import type { Health } from '../admin/health.ts';
import { createLevels, type Levels } from '../admin/levels.ts';
import type { WatchFigures } from '../admin/watch-metrics.ts';
import { watchSpace } from '../admin/space-watch.ts';
import { viewsCheck } from '../admin/views-check.ts';
import { startWatches, type Watch, withFindings } from '../admin/watch.ts';
import type { TlsFiles } from '../config/tls-files.ts';
import { exportsCheck } from '../exports/exports-check.ts';
import { watchFollower } from '../followers/follower-watch.ts';
import { withRetention } from '../retention/sweeper.ts';
import { storageCheck } from '../storage/files/data-directory.ts';
import { freeBytes } from '../storage/files/free-space.ts';
import { logCheck } from '../streams/append/log-watch.ts';
import type { Scrubber } from '../streams/checkpoints/scrubber.ts';
import { webhooksCheck } from '../webhooks/webhooks-check.ts';
import { watchJobs } from '../work/job-watch.ts';
import type { Store } from './store.ts';
import type { Surroundings } from './surroundings.ts';

export interface Watches {
  readonly figures: () => WatchFigures;
  /** The listener has exchanged its certificate for this one. */
  readonly certificateShown: (pem: string) => void;
  readonly levels: Levels;
  start(levelPaceMs?: number): AsyncDisposable;
}

export function watchesOn(
  health: Health,
  store: Store & { readonly scrubber: Scrubber; readonly tls: TlsFiles | undefined },
  surroundings: Surroundings,
): Watches {
  const { storage, access, sweeper, purging, exporting, indexFollower, webhooks, workers } = store;
  const { config, clock, telemetry, meter } = surroundings;
  const spaces = spacesOf(surroundings);
  const ownClock = watchClock({
    clock,
    storeNowMs: () => storage.removal.nowMs(),
    offsetMsMax: config.health.clockOffsetMax.ms,
    telemetry,
  });
  const certificate = watchCertificate(store.tls?.certificate, clock, telemetry);
  const jobs = watchJobs({
    workers,
    work: storage.work,
    silenceMsMax: config.health.jobSilenceMax.ms,
    clock,
    telemetry,
  });
  const followers = followersOf(store, surroundings);
  const levels = createLevels(meter, indexFollower, clock);

  const database = config.storage.url === undefined ? undefined : storage;
  const place = storageCheck(config.storage.dataDirectory, database);
  const stored = withRetention(withAltered(place, access.tenants, telemetry), sweeper, purging);
  const ofCertificate = certificate === undefined ? [] : [certificate];
  health.add(withFindings(stored, spaces.data, ...ofCertificate, jobs.ofCheck('storage')));
  health.add(withFindings(logCheck({ ...store, telemetry }), ownClock, jobs.ofCheck('log')));
  const views = viewsCheck(indexFollower, storage.index);
  health.add(withFindings(views, followers.index, jobs.ofCheck('views')));
  const { alerts, notifier } = followers;
  health.add(withFindings(webhooksCheck(webhooks.notifier), notifier, alerts, jobs.ofCheck('webhooks')));
  const ofFiles = spaces.exports === undefined ? [] : [spaces.exports];
  const exports = exportsCheck(exporting.files, exporting.sharing);
  health.add(withFindings(exports, ...ofFiles, jobs.ofCheck('exports')));

  const all: Watch[] = [
    spaces.data,
    ...ofFiles,
    ownClock,
    ...ofCertificate,
    jobs,
    ...Object.values(followers),
  ];
  return {
    figures: () => ({
      followers: {
        index: store.indexFollower.progress(),
        alerts: store.alertFollower.progress(),
        notifications: webhooks.notifier.progress(),
      },
      spaces: [spaces.data, ...ofFiles].map((space) => ({ name: space.place, freeBytes: space.free() })),
      stuckKinds: jobs.stuckKinds(),
      clockOffsetMs: ownClock.offsetMs(),
      certificateEndsAtMs: certificate?.endsAtMs(),
    }),
    certificateShown: (pem) => certificate?.shown(pem),
    levels,
    start(levelPaceMs) {
      const started = new AsyncDisposableStack();
      started.use(startWatches(all, surroundings));
      started.use(webhooks.startLevelWatch(levels, levelPaceMs));
      return started;
    },
  };
}

function spacesOf({ config, telemetry }: Surroundings) {
  const { freeMebibytesDegraded, freeMebibytesUnhealthy } = config.health;
  const { dataDirectory } = config.storage;
  const limits = {
    degradedBytes: freeMebibytesDegraded * 2 ** 20,
    unhealthyBytes: freeMebibytesUnhealthy * 2 ** 20,
  };
  const watch = (name: string, directory: string, unhealthyBytes: number) =>
    watchSpace({
      place: name,
      freeBytes: () => freeBytes(directory),
      limits: { ...limits, unhealthyBytes },
      telemetry,
    });
  const { directory = join(dataDirectory, 'exports') } = config.exports;
  const isApart = config.exports.directory !== undefined;
  return {
    data: watch('data directory', dataDirectory, limits.unhealthyBytes),
    // Without exports the service still does what it must.
    exports: isApart ? watch('directory of exports', directory, 0) : undefined,
  };
}

function followersOf({ indexFollower, alertFollower, webhooks }: Store, { config, telemetry }: Surroundings) {
  const common = { lagMsMax: config.health.lagMax.ms, telemetry };
  return {
    index: watchFollower({ ...common, follower: indexFollower, subject: 'Lists and searches' }),
    alerts: watchFollower({ ...common, follower: alertFollower, subject: 'Alerts' }),
    notifier: watchFollower({ ...common, follower: webhooks.notifier, subject: 'Deliveries' }),
  };
}
