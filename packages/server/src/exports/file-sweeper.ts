// Removes the files of exports that are deleted, or whose time is over.

import { type Clock } from '../runtime/clock.ts';
import { type Loop, startLoop } from '../runtime/loop.ts';
import type { Random } from '../runtime/random.ts';
import type { RecordReader } from '../records/records.ts';
import type { Telemetry } from '../telemetry.ts';
import type { ExportFiles } from './export-files.ts';
import { EXPORT_KIND, exportIn, isKept } from './export.ts';

export interface FileSweeperParts {
  readonly files: ExportFiles;
  readonly records: Pick<RecordReader, 'byId'>;
  readonly clock: Clock;
  readonly random: Random;
  readonly telemetry: Pick<Telemetry, 'error'>;
}

const PACE_MS = 60_000;
const BACK_OFF_MS = 1000;
const BACK_OFF_MS_MAX = 600_000;

export function startFileSweeper({ files, records, clock, random, telemetry }: FileSweeperParts): Loop {
  return startLoop({
    clock,
    random,
    paceMs: PACE_MS,
    backOffMs: BACK_OFF_MS,
    backOffMsMax: BACK_OFF_MS_MAX,
    async turn(signal) {
      for (const exportId of await files.exportIds()) {
        if (signal.aborted) return;
        const found = (await records.byId(EXPORT_KIND, exportId)).map(exportIn);
        const isNeeded = found.some((each) => each.state === 'Pending' || isKept(each, clock.now()));
        // One that is not known has no file: its record comes first.
        if (!isNeeded) await files.clean(exportId);
      }
    },
    onFailure: ({ error }) => telemetry.error('files of exports could not be removed', error),
    onBroken: (error) => telemetry.error('files of exports are no longer removed', error),
  });
}
