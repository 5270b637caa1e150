// Changes the key that signs checkpoints, whether the service runs or not.

import { ok as assert } from 'node:assert/strict';
import type { Config } from '../config/settings.ts';
import { type Announced, announceRotation, type Rotation } from '../keys/rotation.ts';
import { systemClock } from '../runtime/clock.ts';
import { createUlids } from '../runtime/ids.ts';
import { createSystemRandom } from '../runtime/random.ts';
import { StartError } from '../start-error.ts';
import { type PlannedRotation, rotateSigningKey } from '../storage/signing-key-files.ts';
import { readAnchorAt } from '../storage/sqlite/fsck/memory.ts';
import type { AnchoredHead } from '../streams/anchor.ts';
import { anchorOf, openStorage, requireData } from './open-data.ts';

export interface SigningRotation extends Announced, PlannedRotation {}

/**
 * A new signing key, also while the service runs: first every log says so, then it counts. Asked again after a crash, it
 * goes on where that was. Throws StartError and AuditError.
 */
export async function rotateSigning(config: Config, overlapMs: number): Promise<SigningRotation> {
  requireData(config);
  const { dataDirectory } = config.storage;
  const [clock, random] = [systemClock, createSystemRandom()];
  await using storage = await openStorage(config, false);
  const { log, tree, logOrigin } = storage;
  const correlationId = random.uuid();
  const announce = (rotation: Rotation) => {
    const heads = headsIn(anchorOf(config));
    const anchor = { isNew: heads.size === 0, heads: () => heads };
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

/** The service has the file open for itself, so it is only read. */
function headsIn(place: string): ReadonlyMap<string, AnchoredHead> {
  try {
    return readAnchorAt(place) ?? new Map<string, AnchoredHead>();
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new StartError(`cannot read the anchor ${place}: ${why}`, { cause: error });
  }
}
