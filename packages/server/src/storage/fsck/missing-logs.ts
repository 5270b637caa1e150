// Logs that are remembered outside the store and missing in it.

import { type EvidenceError, logNamed } from '@tallystick/evidence';
import type { AnchoredHead } from '../../streams/anchor/anchor.ts';
import { isSameHead, type RememberedHead } from './remembered-head.ts';
import { fault, type StoreFault, storeFault } from './store-fault.ts';

/** The findings about one tenant. */
export interface FoundLogs {
  readonly tenant: string;
  readonly logs: readonly { readonly origin: string }[];
  /** The heads that logs of the tenant say they go on from. */
  readonly named: readonly AnchoredHead[];
  readonly fault: StoreFault | undefined;
}

export interface MissingLogsOptions {
  readonly logOrigin: string;
  /** This tenant alone. */
  readonly tenant: string | undefined;
}

/** One fault per log; tenants that already have a fault are skipped. */
export function missingLogs(
  heads: readonly RememberedHead[],
  options: MissingLogsOptions,
  found: readonly FoundLogs[],
): StoreFault[] {
  const byTenant = new Map(found.map((each) => [each.tenant, each]));
  const missing = new Map<string, StoreFault>();
  for (const head of heads) {
    const log = logNamed(head.origin, options.logOrigin);
    const isLookedAt = options.tenant === undefined || options.tenant === log?.tenant;
    // The anchor may have more logs than were requested; a given checkpoint is always compared.
    if (!isLookedAt && head.how === 'anchored') continue;
    const own = log && byTenant.get(log.tenant);
    if (own?.fault !== undefined) continue;
    if (own !== undefined && isThereOrDeclared(head, log!.epoch, own, options.logOrigin)) continue;
    const tenant = isLookedAt ? log?.tenant : undefined;
    if (!missing.has(head.origin))
      missing.set(head.origin, storeFault(tenant, isLookedAt ? notThere(head) : notLookedAt(head)));
  }
  return [...missing.values()];
}

function isThereOrDeclared(head: RememberedHead, epoch: number, own: FoundLogs, logOrigin: string): boolean {
  if (own.logs.some(({ origin }) => origin === head.origin)) return true;
  const named = own.named.find(({ origin }) => origin === head.origin);
  if (named !== undefined) return isSameHead(named, head);
  // The log that named it is lost as well: a later one is enough for the anchor, but not for a head that was seen.
  const newest = logNamed(own.logs.at(-1)?.origin ?? '', logOrigin)?.epoch ?? 0;
  return head.how === 'anchored' && epoch < newest;
}

function notThere({ origin, size, how }: RememberedHead): EvidenceError {
  return fault('ROLLBACK', `the log ${origin} was ${how} with ${size} entries, and is not there`);
}

function notLookedAt({ origin }: RememberedHead): EvidenceError {
  return fault('ORIGIN_MISMATCH', `the checkpoint that was seen is of ${origin}, which is not looked at`);
}
