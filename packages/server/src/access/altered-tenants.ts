// What health says of tenants whose records somebody has changed in the database.

import type { Check } from '../admin/health.ts';
import type { Tenants } from './tenants.ts';

/** Of the storage: nothing is lost, but these tenants are not served, and nothing of theirs is removed. */
export function withAltered(storage: Check, tenants: Pick<Tenants, 'altered'>): Check {
  return {
    ...storage,
    async run() {
      const report = await storage.run();
      if (report.status !== 'Healthy' || (await tenants.altered()).length === 0) return report;
      const description =
        'Records of a tenant were altered, put back or removed in the database; the diagnostics say which.';
      return { status: 'Degraded', description };
    },
  };
}
