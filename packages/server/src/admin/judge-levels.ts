// The levels of service that this service is judged by, and whether they hold: availability over the last hour, latencies and the
// lag of lists and searches over the last minutes. A level that few requests speak for is not judged: one slow request of ten
// says nothing about the slowest twentieth.

import type { ServiceLevel, ServiceLevelName } from '@tallystick/contract';
import { formatDuration } from '../runtime/time-span.ts';
import { WINDOW_NS } from './latency-window.ts';
import { OUTCOMES_NS } from './outcome-window.ts';
import type { LatelyMeasured, WorkFigures } from './work-figures.ts';

export interface LevelFigures {
  readonly work: Pick<WorkFigures, 'ingest' | 'query' | 'availability'>;
  /** How far lists and searches were behind; undefined: not measured for this reader. */
  readonly projectionLag: LatelyMeasured | undefined;
}

interface Target {
  readonly name: ServiceLevelName;
  readonly target: number;
  readonly unit: ServiceLevel['unit'];
  readonly windowNs: number;
  /** Undefined: too few to judge by. */
  readonly observed: (figures: LevelFigures) => number | undefined;
}

const REQUESTS_MIN = 100;
const REQUESTS_MIN_OF_AVAILABILITY = 1000;
/** One is taken every five seconds. */
const LAGS_MIN = 20;

const latency = (
  name: ServiceLevelName,
  target: number,
  quantile: 'p95' | 'p99',
  measured: (figures: LevelFigures) => LatelyMeasured | undefined,
  least = REQUESTS_MIN,
): Target => ({
  name,
  target,
  unit: 'Milliseconds',
  windowNs: WINDOW_NS,
  observed(figures) {
    const found = measured(figures);
    return found === undefined || found.count < least ? undefined : found.percentiles[quantile];
  },
});
const ingest = ({ work }: LevelFigures) => work.ingest.lately;
const query = ({ work }: LevelFigures) => work.query.lately;
const lag = ({ projectionLag }: LevelFigures) => projectionLag;

const TARGETS: readonly Target[] = [
  {
    name: 'Availability',
    target: 0.999,
    unit: 'Ratio',
    windowNs: OUTCOMES_NS,
    observed({ work: { availability } }) {
      const { answered, failed } = availability;
      return answered < REQUESTS_MIN_OF_AVAILABILITY ? undefined : (answered - failed) / answered;
    },
  },
  latency('IngestLatencyP95', 500, 'p95', ingest),
  latency('IngestLatencyP99', 1000, 'p99', ingest),
  latency('QueryLatencyP95', 200, 'p95', query),
  latency('QueryLatencyP99', 500, 'p99', query),
  latency('ProjectionLagP95', 5000, 'p95', lag, LAGS_MIN),
  latency('ProjectionLagP99', 10_000, 'p99', lag, LAGS_MIN),
];

/** Without those that are not measured for this reader. */
export function serviceLevels(figures: LevelFigures): ServiceLevel[] {
  const shown = TARGETS.filter(
    ({ name }) => figures.projectionLag !== undefined || !name.startsWith('ProjectionLag'),
  );
  return shown.map(({ name, target, unit, windowNs, observed }) => {
    const current = observed(figures);
    const window = formatDuration(windowNs / 1e6);
    if (current === undefined) return { name, target, unit, window };
    const holds = unit === 'Ratio' ? current >= target : current < target;
    return { name, target, unit, window, current, holds };
  });
}
