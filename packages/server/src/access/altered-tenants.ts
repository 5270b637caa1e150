// What health says of tenants whose records somebody has changed in the database, of records of removals, and of the keyring.

import type { Check } from '../admin/health.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Tenants } from './tenants.ts';

/** Of the storage: nothing is lost, but these tenants are not served, and nothing of theirs is removed. */
export function withAltered(
  storage: Check,
  tenants: Pick<Tenants, 'altered'>,
  telemetry: Pick<Telemetry, 'isAltered'>,
): Check {
  const trouble = async () => {
    if ((await tenants.altered()).length > 0)
      return 'Records of a tenant were altered, put back or removed in the database; the diagnostics say which.';
    if (telemetry.isAltered('Record'))
      return 'A record of a removal was altered, put back or removed in the database; the diagnostics say which.';
    if (telemetry.isAltered('Keyring'))
      return 'The file of the keyring cannot be used, and the service would not start with it; the diagnostics say why.';
    return undefined;
  };
  return {
    ...storage,
    async run() {
      const report = await storage.run();
      const description = report.status === 'Healthy' ? await trouble() : undefined;
      return description === undefined ? report : { status: 'Degraded', description };
    },
  };
}
