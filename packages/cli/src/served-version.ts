// The version of its interface that a service is asked by: the one that the address names, v1 where it names none; and once
// the service says that this one is retired, or takes no changes any more, the next. What commands ask for is the same in all.

import { type ErrorCode, type Version, VERSIONS } from '@tallystick/contract';
import { NoAnswer } from './fetch-bytes.ts';

/** An address without the version that stands at its end, and that version. */
export function splitVersion(address: string): { readonly base: string; readonly version: Version } {
  const version = VERSIONS.find((each) => address.endsWith(`/api/${each}`));
  return version === undefined
    ? { base: address, version: VERSIONS[0] }
    : { base: address.slice(0, -`/api/${version}`.length), version };
}

/** Asks by the version that is served. */
export type AskByVersion = <Answer>(ask: (version: Version) => Promise<Answer>) => Promise<Answer>;

export function byServedVersion(first: Version): AskByVersion {
  let served = first;
  return async (ask) => {
    for (;;) {
      const version = served;
      try {
        return await ask(version);
      } catch (error) {
        const next = VERSIONS[VERSIONS.indexOf(version) + 1];
        if (next === undefined || !isEnded(error)) throw error;
        served = next;
      }
    }
  };
}

const ENDED: readonly (string | undefined)[] = [
  'API_VERSION_RETIRED',
  'API_VERSION_SUNSET',
] satisfies ErrorCode[];

/** The service has done nothing then. */
function isEnded(error: unknown): boolean {
  return error instanceof NoAnswer && ENDED.includes(error.code);
}
