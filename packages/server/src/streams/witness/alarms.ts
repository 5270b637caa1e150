// Alerts the operator when a witness has seen another log under our name, once per log and witness until that witness
// cosigns the log again; and, at intervals, when one refuses to cosign.

import type { TenantId } from '@tallystick/contract';
import type { Clock } from '../../runtime/clock.ts';
import type { Telemetry } from '../../telemetry.ts';
import { isAlarm, type WitnessResponse } from './ask-witnesses.ts';

/** A witness that follows none of ten thousand logs is reported at intervals, not ten thousand times. */
const REFUSALS_TOLD_EVERY_MS = 60_000;

export class WitnessAlarms {
  readonly #clock: Clock;
  readonly #telemetry: Telemetry;
  /** By tenant: the outcome of each witness that contradicts our log. */
  readonly #alarms = new Map<TenantId, Map<string, WitnessResponse['outcome']>>();
  readonly #refusalToldMs = new Map<string, number>();

  constructor(clock: Clock, telemetry: Telemetry) {
    this.#clock = clock;
    this.#telemetry = telemetry;
  }

  /** The number of contradicted logs. */
  logs(): number {
    return this.#alarms.size;
  }

  take(tenant: TenantId, report: WitnessResponse): void {
    const { witness, outcome } = report;
    if (isAlarm(report)) this.#raise(tenant, report);
    else if (outcome === 'Cosigned') this.#clear(tenant, witness);
    else if (outcome === 'Refused' || outcome === 'Failed') this.#tellRefusal(tenant, report);
  }

  #raise(tenant: TenantId, { witness, outcome, message }: WitnessResponse): void {
    const ofLog = this.#alarms.get(tenant) ?? new Map<string, WitnessResponse['outcome']>();
    this.#alarms.set(tenant, ofLog);
    if (ofLog.get(witness) === outcome) return;
    ofLog.set(witness, outcome);
    const alarm = 'a witness has seen another log under our name';
    this.#telemetry.error(alarm, new Error(message), { tenant, witness, outcome });
  }

  #clear(tenant: TenantId, witness: string): void {
    const ofLog = this.#alarms.get(tenant);
    if (ofLog?.delete(witness) && ofLog.size === 0) this.#alarms.delete(tenant);
  }

  #tellRefusal(tenant: TenantId, { witness, message }: WitnessResponse): void {
    const nowMs = this.#clock.monotonicNs() / 1e6;
    const toldMs = this.#refusalToldMs.get(witness);
    if (toldMs !== undefined && nowMs - toldMs < REFUSALS_TOLD_EVERY_MS) return;
    this.#refusalToldMs.set(witness, nowMs);
    this.#telemetry.warn('a witness refuses to cosign', { tenant, witness, why: message });
  }
}
