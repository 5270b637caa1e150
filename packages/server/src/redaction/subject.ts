// How an erasure knows the events of a person without keeping who that is: by HMACs of the values under a key of the tenant.

import { createHmac, timingSafeEqual } from 'node:crypto';
import type { ErasureSubject } from '@tallystick/contract';
import type { TenantRecord } from '../access/tenants.ts';
import type { EventFields } from '../events/show.ts';

type Key = Pick<TenantRecord, 'fingerprintKey'>;

/** In base64. An event is the person's if it has any of them. */
export interface SubjectHashes {
  readonly userId?: string;
  readonly userName?: string;
  /** Of type and id together. */
  readonly resource?: string;
}

export function hashesOf(
  { userId, userName, resourceType, resourceId }: ErasureSubject,
  key: Key,
): SubjectHashes {
  return {
    ...(userId !== undefined && { userId: hashOf(key, 'userId', userId) }),
    ...(userName !== undefined && { userName: hashOf(key, 'userName', userName) }),
    ...(resourceType !== undefined &&
      resourceId !== undefined && { resource: hashOf(key, 'resource', resourceType, resourceId) }),
  };
}

/** Whether an event is the person's, by its facts. */
export function subjectJudge(subject: SubjectHashes, key: Key): (facts: EventFields) => boolean {
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

function hashOf({ fingerprintKey }: Key, ...parts: readonly string[]): string {
  return createHmac('sha256', fingerprintKey)
    .update(JSON.stringify(['erasure', ...parts]))
    .digest('base64');
}
