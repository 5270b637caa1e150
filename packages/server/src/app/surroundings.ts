// The clock, randomness and other surroundings of all parts of a service, which a test may replace.

import type { WitnessPolicy } from '@tallystick/evidence';
import type { Authenticate } from '../access/credentials.ts';
import type { LogGrowth } from '../admin/log-growth.ts';
import type { Appender } from '../admin/measured-log.ts';
import type { Meter } from '../admin/meter.ts';
import type { OtelSettings } from '../config/otel-settings.ts';
import type { Config } from '../config/settings.ts';
import type { Gateway } from '../gateway/pipeline.ts';
import type { Validate } from '../gateway/validate.ts';
import type { Operations } from '../operations.ts';
import type { Resolve } from '../outbound/http/resolve.ts';
import type { DrainTimes } from '../protocols/http/drain.ts';
import type { Mount } from '../protocols/http/mount.ts';
import type { LargeBodyParser } from '../protocols/input/large-body-parser.ts';
import type { Clock } from '../runtime/clock.ts';
import type { Random } from '../runtime/random.ts';
import type { KeyringPlace } from '../storage/sealing/open-keyring.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Tracing } from '../telemetry/tracing.ts';
import type { WaysOut } from './ways-out.ts';

export interface Surroundings {
  readonly config: Config;
  readonly clock: Clock;
  readonly random: Random;
  readonly nextId: () => string;
  readonly telemetry: Telemetry;
  /** Undefined: nothing is traced. */
  readonly tracing: Tracing | undefined;
  readonly validate: Validate;
  readonly witnessPolicy: WitnessPolicy | undefined;
  readonly meter: Meter;
  /** Of the logs, as this node appends to them. */
  readonly growth: LogGrowth;
  readonly waysOut: WaysOut;
  readonly keyring: KeyringPlace;
  /** Where callers reach the service, without a slash at the end. */
  readonly publicUrl: () => string;
  /** Whether the log is written and read in threads of its own. Without them a store opens in a fraction of the time. */
  readonly hasThreads: boolean;
  /** Aborted when the service is told to stop. */
  readonly stopping: AbortSignal | undefined;
}

/** The parts that a test may replace, and those that only the process knows. */
export interface Overrides extends Partial<Pick<Surroundings, 'stopping' | 'hasThreads'>> {
  /** As the variables of the process say it; undefined: nothing is exported. */
  readonly otel?: OtelSettings | undefined;
  readonly clock?: Clock;
  readonly random?: Random;
  readonly authenticate?: Authenticate;
  /** Take the place of bound operations, or are added to them. */
  readonly operations?: Operations;
  /** Stand under the HTTP listener beside those of the service. */
  readonly mounts?: (gateway: Gateway) => readonly Mount[];
  readonly drainTimes?: DrainTimes;
  /** Between two measurements of the levels of service. */
  readonly levelPaceMs?: number;
  readonly largeBodies?: Pick<LargeBodyParser, 'parse'> & AsyncDisposable;
  /** Looks up the names of consumers of webhooks. */
  readonly resolveConsumer?: Resolve;
  /** Stands between the sequencer and the real log, for tests that take a safeguard away. */
  readonly around?: (log: Appender) => Appender;
}
