// The health of shared counts: whether nodes count together, where they were told to.

import type { Check } from '../admin/health.ts';

export function ratesCheck(isShared: () => boolean): Check {
  return {
    name: 'rates',
    essential: false,
    run: () =>
      Promise.resolve(
        isShared()
          ? { status: 'Healthy', description: 'Nodes count requests together.' }
          : {
              status: 'Degraded',
              description: 'Redis does not answer: each node counts requests for itself.',
            },
      ),
  };
}
