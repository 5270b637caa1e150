// What concerns the installation as a whole is recorded in a log of its own, as the acts of a tenant are in that tenant's.

import { INSTALLATION, KINDS } from '@tallystick/evidence';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { EventsRequest } from '../log.ts';
import { draftNotice } from './notice.ts';

export interface InstallationAct {
  readonly act: 'KeysAdopted' | 'LogRecovered' | 'AnchorLossesAccepted';
  /** Such as `Recover.Log`. */
  readonly action: string;
  readonly resource: { readonly resourceType: string; readonly resourceId: string };
  /** Of the keys or logs that it is about. */
  readonly count: number;
}

export interface InstallationNoticeParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'uuid'>;
  readonly nextId: () => string;
}

/** To be appended once the installation has its log. */
export function installationNotice(
  { act, action, resource, count }: InstallationAct,
  { clock, random, nextId }: InstallationNoticeParts,
): EventsRequest {
  const draft = draftNotice(
    {
      kind: KINDS.administration,
      action,
      resource,
      payload: { act, requestId: nextId(), subjectIds: [], count },
      correlationId: random.uuid(),
    },
    { eventId: nextId(), nowMs: clock.now() },
  );
  return { tenant: INSTALLATION, drafts: [draft], atomic: true };
}
