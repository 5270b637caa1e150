// Counts what the service does: requests, events, and how long they take. Of the whole process, and of each tenant by
// itself, because a tenant is shown its own figures and no others. Nothing is kept of a single request. Of a tenant two
// things are held: counts since the start (0.8 KB), and latencies of the last minutes (1.4 KB each for ingestion and for
// queries), which are dropped once there is nothing left in them. 20,000 tenants are held at least, 40,000 at most: past
// that, those that were idle longest begin at zero again, as all do after a restart.

import { type Operation, type OperationName, OPERATIONS, type TenantId } from '@tallystick/contract';
import type { Clock } from '../runtime/clock.ts';
import { AgingMap } from './aging-map.ts';
import { DurationHistogram } from './duration-histogram.ts';
import { LatencyWindow, WINDOW_NS } from './latency-window.ts';
import { OutcomeWindow } from './outcome-window.ts';
import { DELIVERY_OUTCOMES, type DeliveryOutcome } from './work-figures.ts';
import type {
  LatelyMeasured,
  Latencies,
  RequestCount,
  StatusKind,
  Work,
  WorkFigures,
} from './work-figures.ts';

export interface Meter {
  /**
   * A request was answered or refused. `tenant` is the only tenant that it concerns; a request that reaches beyond a
   * tenant, or was refused before its tenant was known, has none. `beganNs`: when all of it was there, if reading it took time.
   * `isAdmitted`: the caller was known to be allowed to make it.
   */
  answered(
    operation: Operation<OperationName>,
    tenant: TenantId | undefined,
    status: StatusKind,
    beganNs: number,
    isAdmitted?: boolean,
  ): void;
  /** This number of events of a tenant became durable. */
  accepted(tenant: TenantId, events: number): void;
  committed(spanNs: number): void;
  /** An attempt to deliver something of a tenant to a consumer has ended. */
  attempted(tenant: TenantId, outcome: DeliveryOutcome, spanNs: number): void;
  ofTenant(tenant: TenantId): WorkFigures;
  ofProcess(): WorkFigures;
  /** Since the start, of the process. */
  readonly requestDurations: Readonly<Record<Work, DurationHistogram>>;
  readonly commitDurations: DurationHistogram;
  readonly deliveryDurations: DurationHistogram;
}

const TENANTS_MAX = 20_000;
const STATUS_KINDS: readonly StatusKind[] = ['2xx', '4xx', '5xx'];

export function createMeter(clock: Pick<Clock, 'monotonicNs'>, tenantsMax = TENANTS_MAX): Meter {
  return new CountingMeter(clock, tenantsMax);
}

/** By their place in the contract; operations of one permission are work of one kind. */
const KNOWN = new Map(
  OPERATIONS.map((operation, place) => [operation.name, { place, work: workOf(operation) }]),
);

function workOf({ permission, effect }: Operation<OperationName>): Work {
  if (permission === 'audit.events.write') return 'ingest';
  return permission === 'audit.events.read' && effect === 'Read' ? 'query' : 'other';
}

/** Since the start. */
class Counts {
  /** By the place of the operation and the kind of status: most tenants use few of them. */
  readonly requests = new Map<number, number>();
  events = 0;
  readonly deliveries = new Map<DeliveryOutcome, number>();
  /** Over the last hour. */
  readonly outcomes = new OutcomeWindow();
  readonly ingest = { count: 0, sumNs: 0 };
  readonly query = { count: 0, sumNs: 0 };
}

/** Over the last minutes; made for those who need them. */
class Windows {
  #ingest: LatencyWindow | undefined;
  #query: LatencyWindow | undefined;

  of(work: 'ingest' | 'query'): LatencyWindow {
    return work === 'ingest' ? (this.#ingest ??= new LatencyWindow()) : (this.#query ??= new LatencyWindow());
  }

  measured(work: 'ingest' | 'query', nowNs: number): LatelyMeasured | undefined {
    return (work === 'ingest' ? this.#ingest : this.#query)?.measured(nowNs);
  }
}

const newCounts = () => new Counts();
const newWindows = () => new Windows();

class CountingMeter implements Meter {
  readonly #clock: Pick<Clock, 'monotonicNs'>;
  readonly #counts = new Counts();
  readonly #windows = new Windows();
  readonly #countsOf: AgingMap<TenantId, Counts>;
  readonly #windowsOf: AgingMap<TenantId, Windows>;
  readonly requestDurations = {
    ingest: new DurationHistogram(),
    query: new DurationHistogram(),
    other: new DurationHistogram(),
  };
  readonly commitDurations = new DurationHistogram();
  readonly deliveryDurations = new DurationHistogram();

  constructor(clock: Pick<Clock, 'monotonicNs'>, tenantsMax: number) {
    const nowNs = clock.monotonicNs();
    this.#clock = clock;
    this.#countsOf = new AgingMap({ entriesMax: tenantsMax }, nowNs);
    this.#windowsOf = new AgingMap({ entriesMax: tenantsMax, ageNs: WINDOW_NS }, nowNs);
  }

  answered(
    { name, permission }: Operation<OperationName>,
    tenant: TenantId | undefined,
    status: StatusKind,
    beganNs: number,
    isAdmitted = true,
  ): void {
    const nowNs = this.#clock.monotonicNs();
    const spanNs = nowNs - beganNs;
    const { place, work } = KNOWN.get(name)!;
    const cell = place * STATUS_KINDS.length + (status === '2xx' ? 0 : status === '4xx' ? 1 : 2);
    // A refused request says nothing about how long the work takes.
    const isWork = status !== '4xx';
    if (isWork) this.requestDurations[work].note(spanNs);
    const isFailed = status === '5xx';
    // Probes need no permission, and come however few requests there are. Strangers, who are refused, would hide failures as well.
    const isJudged = permission !== null && (isAdmitted || isWork);
    count(this.#counts, cell, isWork ? work : 'other', spanNs);
    if (isJudged) this.#counts.outcomes.note(isFailed, nowNs);
    if (isWork && work !== 'other') this.#windows.of(work).note(spanNs, nowNs);
    if (tenant === undefined) return;
    const counts = this.#countsOf.use(tenant, newCounts, nowNs);
    count(counts, cell, isWork ? work : 'other', spanNs);
    if (isJudged) counts.outcomes.note(isFailed, nowNs);
    if (isWork && work !== 'other')
      this.#windowsOf.use(tenant, newWindows, nowNs).of(work).note(spanNs, nowNs);
  }

  accepted(tenant: TenantId, events: number): void {
    this.#counts.events += events;
    this.#countsOf.use(tenant, newCounts, this.#clock.monotonicNs()).events += events;
  }

  committed(spanNs: number): void {
    this.commitDurations.note(spanNs);
  }

  attempted(tenant: TenantId, outcome: DeliveryOutcome, spanNs: number): void {
    this.deliveryDurations.note(spanNs);
    const counts = this.#countsOf.use(tenant, newCounts, this.#clock.monotonicNs());
    for (const { deliveries } of [this.#counts, counts])
      deliveries.set(outcome, (deliveries.get(outcome) ?? 0) + 1);
  }

  ofTenant(tenant: TenantId): WorkFigures {
    const counts = this.#countsOf.get(tenant) ?? new Counts();
    return figuresOf(counts, this.#windowsOf.get(tenant) ?? new Windows(), this.#clock.monotonicNs());
  }

  ofProcess(): WorkFigures {
    return figuresOf(this.#counts, this.#windows, this.#clock.monotonicNs());
  }
}

function count({ requests, ingest, query }: Counts, cell: number, work: Work, spanNs: number): void {
  requests.set(cell, (requests.get(cell) ?? 0) + 1);
  if (work === 'other') return;
  const total = work === 'ingest' ? ingest : query;
  total.count += 1;
  total.sumNs += spanNs;
}

function figuresOf(counts: Counts, windows: Windows, nowNs: number): WorkFigures {
  const latencies = (work: 'ingest' | 'query'): Latencies => ({
    lately: windows.measured(work, nowNs),
    count: counts[work].count,
    sumSeconds: counts[work].sumNs / 1e9,
  });
  return {
    requests: requestsOf(counts),
    eventsAccepted: counts.events,
    deliveryAttempts: DELIVERY_OUTCOMES.map((outcome) => ({
      outcome,
      count: counts.deliveries.get(outcome) ?? 0,
    })),
    availability: counts.outcomes.read(nowNs),
    ingest: latencies('ingest'),
    query: latencies('query'),
  };
}

/** In the order of the contract, not of arrival. */
function requestsOf({ requests }: Counts): RequestCount[] {
  const cells = [...requests].sort(([one], [other]) => one - other);
  return cells.map(([cell, times]) => ({
    operation: OPERATIONS[Math.floor(cell / STATUS_KINDS.length)]!.name,
    status: STATUS_KINDS[cell % STATUS_KINDS.length]!,
    count: times,
  }));
}
