// How an erasure knows the events of a person without keeping who that is: by HMACs of the values under a key of its own, which goes
// with them when the erasure ends. No key of the tenant: one may be replaced while an erasure waits for holds.

import { timingSafeEqual } from 'node:crypto';
import type { ErasureSubject } from '@tallystick/contract';
import { fromBase64, toBase64 } from '@tallystick/evidence';
import type { EventFields } from '../events/show.ts';
import type { Random } from '../runtime/random.ts';
import { hmacSha256 } from '../runtime/hmac.ts';

const KEY_BYTES = 32;

/** In base64. An event is the person's if it has any of those behind the key. */
export interface SubjectHashes {
  readonly key: string;
  readonly userId?: string;
  readonly userName?: string;
  /** Of type and id together. */
  readonly resource?: string;
}

export function hashesOf(
  { userId, userName, resourceType, resourceId }: ErasureSubject,
  random: Pick<Random, 'bytes'>,
): SubjectHashes {
  const key = random.bytes(KEY_BYTES);
  return {
    key: toBase64(key),
    ...(userId !== undefined && { userId: hashOf(key, 'userId', userId) }),
    ...(userName !== undefined && { userName: hashOf(key, 'userName', userName) }),
    ...(resourceType !== undefined &&
      resourceId !== undefined && { resource: hashOf(key, 'resource', resourceType, resourceId) }),
  };
}

/** Whether an event is the person's, by its facts. */
export function subjectJudge(subject: SubjectHashes): (facts: EventFields) => boolean {
  const key = fromBase64(subject.key);
  return ({ actor, resource }) => {
    const { userId, userName } = actor;
    const { resourceType, resourceId } = resource;
    return (
      isSame(subject.userId, userId !== undefined && hashOf(key, 'userId', userId)) ||
      isSame(subject.userName, userName !== undefined && hashOf(key, 'userName', userName)) ||
      isSame(
        subject.resource,
        subject.resource !== undefined &&
          resourceId !== undefined &&
          hashOf(key, 'resource', resourceType, resourceId),
      )
    );
  };
}

function isSame(wanted: string | undefined, found: string | false): boolean {
  return wanted !== undefined && found !== false && timingSafeEqual(Buffer.from(wanted), Buffer.from(found));
}

function hashOf(key: Uint8Array, ...parts: readonly string[]): string {
  return hmacSha256(key, JSON.stringify(parts)).toString('base64');
}
