// Changes the key that signs checkpoints, whether the service runs or not.

import { ok as assert } from 'node:assert/strict';
import type { Config } from '../config/settings.ts';
import { type Announced, announceRotation, type Rotation } from '../keys/rotation.ts';
import { systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { type PlannedRotation, rotateSigningKey } from '../storage/signing-key-files.ts';
import { openStorage, requireAnchorOf, requireData } from './open-data.ts';

export interface SigningRotation extends Announced, PlannedRotation {}

/**
 * A new signing key, also while the service runs: first every log says so, then it counts. Asked again after a crash, it
 * goes on where that was. Throws StartError, also where no anchor tells which logs are refused, and AuditError.
 */
export async function rotateSigning(config: Config, overlapMs: number): Promise<SigningRotation> {
  requireData(config);
  const { dataDirectory } = config.storage;
  const [clock, random] = [systemClock, createSystemRandom()];
  await using storage = await openStorage(config, false);
  const { log, tree, logOrigin } = storage;
  const correlationId = random.uuid();
  // Before anything is planned.
  await requireAnchorOf(config, storage);
  const announce = async (rotation: Rotation) => {
    const anchor = await requireAnchorOf(config, storage);
    // Whoever compares with an anchor that moves on meanwhile would warn of nothing.
    const telemetry = { warn: () => {} };
    return announceRotation(rotation, { log, tree, logOrigin, anchor, telemetry, clock, correlationId });
  };
  let done: PlannedRotation | undefined;
  let first: Announced | undefined;
  const wish = { overlapMs, nowMs: clock.now(), nextId: createUlids(clock, random) };
  await rotateSigningKey(dataDirectory, wish, async (planned) => {
    done = planned;
    first = await announce(planned);
  });
  assert(done !== undefined && first !== undefined, 'it is announced before it counts');
  // A log that began in the last moment was signed by the old key alone, too.
  const all = await announce(done);
  return { ...done, ...all, before: first.before };
}
