// The keys of an identity provider as it publishes them: fetched when a token first needs one, kept for a while, and fetched again
// for a key id that is new to us, because the provider may have changed its keys a moment ago. Whoever sends tokens chooses
// their key ids, so only a few of such fetches are made in a while, however many tokens come; and a provider that fails
// is left alone for a moment. Ages are elapsed time: setting the wall clock keeps no withdrawn key in force.

import type { webcrypto } from 'node:crypto';
import { createLocalJWKSet, errors, type JSONWebKeySet, type JWTVerifyGetKey } from 'jose';
import type { Clock } from '../runtime/clock.ts';

export interface KeyTimes {
  /** For so long the keys are not asked for again. */
  readonly keptMs: number;
  /** In which only so many fetches are made for key ids that are new. */
  readonly windowMs: number;
  /** After a fetch that failed. */
  readonly pauseMs: number;
}

/** Providers change their keys once in weeks; two changes within minutes are a mistake that is mended. */
export const NEW_ID_FETCHES_MAX = 4;
/** As jose has it for a signature; a provider that publishes less is at fault, not the token. */
const RSA_BITS_MIN = 2048;

interface Known {
  readonly find: ReturnType<typeof createLocalJWKSet>;
  readonly fetchedMs: number;
}

/** The returned function throws an error of jose about the token, or whatever `fetchKeys` throws. */
export function createPublishedKeys(
  fetchKeys: () => Promise<unknown>,
  clock: Pick<Clock, 'monotonicNs'>,
  { keptMs, windowMs, pauseMs }: KeyTimes,
): JWTVerifyGetKey {
  let known: Known | undefined;
  let fetching: Promise<Known> | undefined;
  let failed: { readonly error: unknown; readonly atMs: number } | undefined;
  /** When keys were fetched for a new key id, as far as that still counts. */
  let asked: readonly number[] = [];
  const nowMs = () => clock.monotonicNs() / 1e6;

  const fetchNow = async (): Promise<Known> => {
    try {
      const find = createLocalJWKSet((await fetchKeys()) as JSONWebKeySet);
      failed = undefined;
      return (known = { find, fetchedMs: nowMs() });
    } catch (error) {
      failed = { error, atMs: nowMs() };
      throw error;
    } finally {
      fetching = undefined;
    }
  };
  /** All who need the keys at the same time wait for one fetch. */
  const fetched = async (): Promise<Known> => {
    if (fetching === undefined && failed !== undefined && nowMs() - failed.atMs < pauseMs) throw failed.error;
    return (fetching ??= fetchNow());
  };
  const current = async (): Promise<Known> =>
    known !== undefined && nowMs() - known.fetchedMs < keptMs ? known : await fetched();
  /** Undefined: there have been enough of such fetches. */
  const fetchedForNewId = async (): Promise<Known | undefined> => {
    const now = nowMs();
    asked = asked.filter((atMs) => now - atMs < windowMs);
    if (asked.length < NEW_ID_FETCHES_MAX) asked = [...asked, now];
    else if (failed !== undefined) throw failed.error;
    else if (fetching === undefined) return undefined;
    return fetched();
  };

  return async (header, token) => {
    const { find } = await current();
    try {
      return sound(await find(header, token));
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey)) throw error;
      const renewed = await fetchedForNewId();
      if (renewed === undefined) throw error;
      return sound(await renewed.find(header, token));
    }
  };
}

function sound(key: webcrypto.CryptoKey): webcrypto.CryptoKey {
  const { modulusLength } = key.algorithm as { modulusLength?: number };
  if (modulusLength !== undefined && modulusLength < RSA_BITS_MIN)
    throw new Error(`its key has ${modulusLength} bits; RSA needs ${RSA_BITS_MIN}`);
  return key;
}
