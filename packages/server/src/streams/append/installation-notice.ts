// Acts that concern the whole installation are recorded in a log of its own, as the acts of a tenant are in that
// tenant's log.

import { INSTALLATION, KINDS } from '@tallystick/evidence';
import type { Clock } from '../../runtime/clock.ts';
import type { Random } from '../../runtime/random.ts';
import type { EventsRequest } from '../log.ts';
import { draftNotice } from './notice.ts';

export interface InstallationAct {
  readonly act: 'KeysAdopted' | 'LogRecovered' | 'AnchorLossesAccepted';
  /** For example `Recover.Log`. */
  readonly action: string;
  readonly resource: { readonly resourceType: string; readonly resourceId: string };
  /** The number of keys or logs concerned. */
  readonly count: number;
}

export interface InstallationNoticeParts {
  readonly clock: Pick<Clock, 'now'>;
  readonly random: Pick<Random, 'uuid'>;
  readonly nextId: () => string;
}

/** Must be appended once the installation has its log. */
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
