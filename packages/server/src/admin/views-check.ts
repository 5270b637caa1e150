// The health of the views: a failing follower makes answers outdated; a damaged index may not answer at all.

import type { Follower } from '../followers/follower.ts';
import type { Check } from './health.ts';

export function viewsCheck(
  follower: Pick<Follower, 'failure'>,
  views: { readonly isDamaged: () => boolean },
): Check {
  return {
    name: 'views',
    essential: false,
    async run() {
      if (views.isDamaged()) {
        const description =
          'The index of events is damaged, so lists and searches may fail; it is rebuilt within ten minutes.';
        return { status: 'Degraded', description };
      }
      if (follower.failure() === undefined)
        return { status: 'Healthy', description: 'Views follow the log.' };
      const description = 'Lists and searches do not follow the log at the moment; the diagnostics say why.';
      return { status: 'Degraded', description };
    },
  };
}
