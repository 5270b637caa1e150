// The job that tries to index an event again, which the index has set aside as a dead letter.

import { parseJson } from '@tallystick/evidence';
import type { KindOfWork } from '../work/workers.ts';
import type { EventIndex } from './event-index.ts';

export function indexEventWork(index: Pick<EventIndex, 'forTenant'>): KindOfWork {
  return {
    kind: 'IndexEvent',
    atOnce: 4,
    perLane: 2,
    attemptsMax: 1,
    async handle({ tenant, body }) {
      const { index: place } = parseJson(body) as { readonly index: number };
      const reason = await index.forTenant(tenant).indexAgain(place);
      return reason === undefined ? { status: 'Done' } : { status: 'Dead', reason };
    },
  };
}
