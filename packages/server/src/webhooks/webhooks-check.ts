// The health of webhooks: whether deliveries can be queued. A consumer that fails says nothing about the service.

import type { Check } from '../admin/health.ts';
import type { Follower } from '../followers/follower.ts';

export function webhooksCheck(notifier: Pick<Follower, 'failure'>): Check {
  return {
    name: 'webhooks',
    essential: false,
    async run() {
      if (notifier.failure() === undefined)
        return { status: 'Healthy', description: 'Deliveries are queued as the log grows.' };
      const description =
        'Deliveries are not queued at the moment, and will be: none is lost. The diagnostics say why.';
      return { status: 'Degraded', description };
    },
  };
}
