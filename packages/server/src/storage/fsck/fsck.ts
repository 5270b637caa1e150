// Verifies a store: all evidence in it, tenant by tenant, against itself, the signing keys and the remembered heads. It
// reads one state, also while the service runs, changes nothing, and holds one lot of entries at a time. After a fault
// it continues with the next tenant. The same code checks every backend.

import type { PastHolds } from '../../holds/past-holds.ts';
import type { Keyring } from '../sealing/keyring.ts';
import { type Awaitable, awaited, type Resumable } from '../resumable.ts';
import { ALL_CHECKS, type Check, type Checks } from './checks.ts';
import { WalkResources } from './entries.ts';
import type { DecidedBefore } from './decisions.ts';
import { anchorFault, createMemory, headsRemembered, type Remembered } from './memory.ts';
import { type FoundLogs, missingLogs } from './missing-logs.ts';
import type { TrustedKey } from './notes.ts';
import { fault, type StoreFault, storeFault } from './store-fault.ts';
import type { StoredRows, TenantRow } from './stored-rows.ts';
import { type CheckedLog, TenantCheck, type TenantResult } from './tenant.ts';

export interface FsckOptions {
  readonly keys: readonly TrustedKey[];
  readonly remembered: Remembered;
  /** Opens what is sealed; undefined: there is none. */
  readonly ring?: Keyring | undefined;
  /** Called for each tenant. */
  readonly newDecisions: () => DecidedBefore;
  readonly newHolds: () => PastHolds;
  /** Only this tenant; checks of the whole store are then skipped. */
  readonly tenant?: string | undefined;
  /** All checks, except in tests. */
  readonly checks?: Checks;
  readonly resources?: WalkResources;
}

export interface TenantReport extends FoundLogs {
  readonly logs: readonly CheckedLog[];
  readonly streams: number;
}

export interface FsckReport {
  /** Faults of the whole store first. */
  readonly faults: readonly StoreFault[];
  readonly tenants: readonly TenantReport[];
  readonly notEvidence: Readonly<Record<string, string>>;
}

export interface FsckProgress {
  /** What is gone through. */
  readonly of: 'Log' | 'Index';
  readonly entries: number;
  /** An estimate. */
  readonly entriesTotal: number;
}

/** All reads of `store` must come from one state. */
export function* fsck<Tenant>(
  store: StoredRows<Tenant>,
  options: FsckOptions,
): Resumable<FsckReport, FsckProgress> {
  const { checks = ALL_CHECKS, tenant: only } = options;
  const faults: StoreFault[] = [];
  const tenants: TenantReport[] = [];
  function* look(check: Check, work: () => Awaitable<void>): Resumable<void> {
    if (!checks.has(check)) return;
    try {
      yield* awaited(work());
    } catch (error) {
      faults.push(storeFault(undefined, store.faultOf(error)));
    }
  }
  for (const each of store.ofTheWhole) yield* look(each.check, each.look);
  if (only === undefined) yield* look('strays', () => store.requireKnownTenants());
  try {
    yield* checkTenants(store, options, tenants);
  } catch (error) {
    faults.push(storeFault(undefined, store.faultOf(error)));
  }
  for (const { fault: own } of tenants) if (own !== undefined) faults.push(own);
  if (only === undefined) {
    const isAllMet = faults.length === 0;
    const met = tenants.flatMap(({ logs }) => logs).reduce((sum, { values }) => sum + values, 0);
    yield* look('strays', () => store.requireNoStrayContent(isAllMet ? met : undefined));
  }
  if (checks.has('anchor')) faults.push(...(yield* anchorFaults(store, options, tenants)));
  const notEvidence = (yield* orNone(store, () => store.notEvidence())) ?? {};
  return { faults, tenants, notEvidence };
}

function* checkTenants<Tenant>(
  store: StoredRows<Tenant>,
  options: FsckOptions,
  reports: TenantReport[],
): Resumable<void, FsckProgress> {
  const { remembered, tenant: only, checks = ALL_CHECKS } = options;
  const { resources = new WalkResources(checks) } = options;
  const logOrigin = yield* awaited(store.logOrigin());
  if (logOrigin === undefined)
    throw fault('ORIGIN_MISMATCH', 'the database does not say the name of its logs');
  const memory = createMemory(remembered);
  const check = new TenantCheck({ ...options, store, resources, logOrigin, memory });
  const entriesTotal = yield* awaited(store.entriesTotal());
  let entries = 0;
  for (let last: TenantRow<Tenant> | undefined; ; ) {
    const portion = yield* awaited(store.tenants(last, only));
    if (portion.length === 0) return;
    for (const stored of portion) {
      const logs: CheckedLog[] = [];
      const { tenantId: tenant } = stored;
      let result: TenantResult = { streams: 0, named: [] };
      let found: StoreFault | undefined;
      try {
        const steps = check.run(stored, logs);
        result = yield* counted(steps, (count) => ({ of: 'Log', entries: (entries += count), entriesTotal }));
      } catch (error) {
        found = storeFault(tenant, store.faultOf(error));
      }
      reports.push({ tenant, logs, ...result, fault: found });
    }
    last = portion.at(-1);
  }
}

/** The same steps, with their progress converted by `progressOf`. */
function* counted<T>(
  steps: Resumable<T, number>,
  progressOf: (count: number) => FsckProgress,
): Resumable<T, FsckProgress> {
  for (let step = steps.next(); ; ) {
    if (step.done === true) return step.value;
    if (typeof step.value === 'number') {
      yield progressOf(step.value);
      step = steps.next();
      continue;
    }
    let answer: unknown;
    try {
      answer = yield step.value;
    } catch (error) {
      step = steps.throw(error);
      continue;
    }
    step = steps.next(answer);
  }
}

function* anchorFaults<Tenant>(
  store: StoredRows<Tenant>,
  { remembered, tenant }: FsckOptions,
  tenants: readonly TenantReport[],
): Resumable<StoreFault[]> {
  const isSigned = tenants.some(({ logs }) => logs.some(({ signedSize }) => signedSize > 0));
  const own = anchorFault(remembered, isSigned);
  const logOrigin = yield* orNone(store, () => store.logOrigin());
  return [
    ...(own === undefined ? [] : [storeFault(undefined, own)]),
    // A store without a log name already has that fault.
    ...(logOrigin === undefined
      ? []
      : missingLogs(headsRemembered(remembered), { logOrigin, tenant }, tenants)),
  ];
}

/** Unreadable rows are reported elsewhere. */
function* orNone<T>(
  { faultOf }: Pick<StoredRows<unknown>, 'faultOf'>,
  read: () => Awaitable<T>,
): Resumable<T | undefined> {
  try {
    return yield* awaited(read());
  } catch (error) {
    faultOf(error);
    return undefined;
  }
}
