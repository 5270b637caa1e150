// Where files of a tenant that is pinned to a region may be delivered: to places that are known to be in it. What a request says of itself
// proves nothing, but for AWS, whose names of hosts have the region in them.

import type { DeliveryDestination } from '@tallystick/contract';
import type { TenantRecord } from '../access/tenants.ts';

/** What is shown of a destination is enough. */
interface Placed extends Pick<DeliveryDestination, 'type'> {
  readonly host?: string;
  readonly endpoint?: string | undefined;
  readonly region?: string;
}

export type ViolatesResidency = (destination: Placed, tenant: Pick<TenantRecord, 'region'>) => boolean;

/** `hosts`: as the setting has them, `region=host`. */
export function createResidency(hosts: readonly string[] = []): ViolatesResidency {
  const known = hosts.map((each) => {
    const [region, host = ''] = each.split('=');
    return { region, host: host.toLowerCase() };
  });
  const isKnown = (host: string, pinned: string) =>
    known.some(
      (each) =>
        isWithin(each.region!, pinned) &&
        (each.host === host || (each.host.startsWith('*.') && host.endsWith(each.host.slice(1)))),
    );
  return ({ type, host, endpoint, region }, { region: pinned }) => {
    if (pinned === undefined) return false;
    if (type === 'ObjectStorage' && endpoint === undefined) return !isWithin(region ?? '', pinned);
    const place = type === 'Sftp' ? host : URL.parse(endpoint ?? '')?.hostname;
    return !isKnown((place ?? '').toLowerCase().replace(/\.$/, ''), pinned);
  };
}

/** `eu-central-1` is in `eu`. */
function isWithin(region: string, pinned: string): boolean {
  return region === pinned || region.startsWith(`${pinned}-`);
}
