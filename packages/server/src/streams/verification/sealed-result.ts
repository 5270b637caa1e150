// The result of a verification bears a MAC: the row of its job is in reach of everybody who can write to the database, who
// could otherwise alter an event and then the verdict about it.

import { timingSafeEqual } from 'node:crypto';
import { canonicalJson, parseJson } from '@tallystick/evidence';
import type { Signing } from '../../keys/signing.ts';
import type { Job } from '../../work/jobs.ts';
import { hmacSha256 } from '../../runtime/hmac.ts';

type Verified = Pick<Job, 'tenant' | 'jobId' | 'body'>;
type MacKeys = Pick<Signing, 'macKeys' | 'reload'>;

interface Sealed {
  readonly text: string;
  /** In hex. */
  readonly mac: string;
}

/** The text of a result, bound to the request that it answers. */
export function sealResult(job: Verified, text: string, signing: MacKeys): string {
  const key = signing.macKeys().at(-1);
  if (key === undefined) throw new Error('there is no key to seal a verdict with');
  return JSON.stringify({ text, mac: macOf(job, text, key).toString('hex') } satisfies Sealed);
}

/** Undefined for a result that this installation has not written. */
export async function openResult(
  job: Verified & { readonly result: string },
  signing: MacKeys,
): Promise<string | undefined> {
  const sealed = sealedIn(job.result);
  if (sealed === undefined) return undefined;
  const { text, mac } = sealed;
  const given = Buffer.from(mac, 'hex');
  const isGenuine = () =>
    signing.macKeys().some((key) => {
      const expected = macOf(job, text, key);
      return expected.length === given.length && timingSafeEqual(expected, given);
    });
  if (isGenuine()) return text;
  // Another node may have used a key that is new.
  await signing.reload();
  return isGenuine() ? text : undefined;
}

function sealedIn(result: string): Sealed | undefined {
  try {
    const { text, mac } = parseJson(result) as Partial<Sealed>;
    return typeof text === 'string' && typeof mac === 'string' ? { text, mac } : undefined;
  } catch {
    return undefined;
  }
}

function macOf({ tenant, jobId, body }: Verified, text: string, key: Uint8Array): Buffer {
  // Nothing else that is authenticated with these keys begins with this word (records/record-macs.ts).
  return hmacSha256(key, canonicalJson(['verdict', tenant, jobId, body, text]));
}
