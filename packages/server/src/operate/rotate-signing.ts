// Changes the key that signs checkpoints, whether the service runs or not.

import { ok as assert } from 'node:assert/strict';
import type { Config } from '../config/settings.ts';
import { type Announced, announceRotation, type Rotation } from '../keys/rotation.ts';
import { systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { addOwedNotices } from '../storage/keys/owed-notice-files.ts';
import { lastRotation, type PlannedRotation, rotateSigningKey } from '../storage/keys/signing-key-files.ts';
import { openStorage, requireAnchorOf, requireData } from './open-data.ts';
import { refusedLogs } from './refused-logs.ts';

export interface SigningRotation extends PlannedRotation, Pick<Announced, 'before' | 'without'> {
  /** That have the notice now. */
  readonly logs: number;
}

/**
 * A new signing key, also while the service runs: first every log says so, then it counts. Logs that are refused get
 * their notice from the service, once they may go on. Asked again after a crash, it goes on where that was. Throws
 * StartError, also where no anchor tells which logs are refused, and AuditError.
 */
export async function rotateSigning(config: Config, overlapMs: number): Promise<SigningRotation> {
  requireData(config);
  const { dataDirectory } = config.storage;
  const [clock, random] = [systemClock, createSystemRandom()];
  await using storage = await openStorage(config, false);
  const { log, tree } = storage;
  const correlationId = random.uuid();
  // Before anything is planned.
  await requireAnchorOf(config, storage);
  const announce = async (rotation: Rotation, known?: Announced) => {
    const refused = await refusedLogs(config, storage);
    return announceRotation(rotation, { log, tree, refused, clock, correlationId }, known);
  };
  const last = await lastRotation(dataDirectory);
  if (last !== undefined && clock.now() < last.overlapEndsAtMs) {
    // It counts; a run that was killed then may have left logs without its notice that began in the last moment.
    const { told, before, without } = await announce(last);
    if (told.size > before) return { ...last, logs: told.size, before, without };
  }
  let done: PlannedRotation | undefined;
  let first: Announced | undefined;
  const wish = { overlapMs, nowMs: clock.now(), nextId: createUlids(clock, random) };
  await rotateSigningKey(dataDirectory, wish, async (planned) => {
    done = planned;
    first = await announce(planned);
    await addOwedNotices(dataDirectory, planned, [...first.without.keys()]);
  });
  assert(done !== undefined && first !== undefined, 'it is announced before it counts');
  // A log that began in the last moment was signed by the old key alone, too.
  const all = await announce(done, first);
  const { without } = first;
  await addOwedNotices(
    dataDirectory,
    done,
    [...all.without.keys()].filter((tenant) => !without.has(tenant)),
  );
  return { ...done, logs: all.told.size, before: first.before, without: all.without };
}
