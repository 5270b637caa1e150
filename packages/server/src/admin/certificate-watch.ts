// Watches the end of the certificate that this service shows its callers.

import { X509Certificate } from 'node:crypto';
import { type Clock, instant } from '../runtime/clock.ts';
import type { Telemetry } from '../telemetry.ts';
import type { Watch } from './watch.ts';

export interface CertificateWatch extends Watch {
  readonly endsAtMs: () => number;
  /** It was exchanged for this one. */
  shown(pem: string): void;
}

const DAY_MS = 86_400_000;
export const CERTIFICATE_DAYS_LEFT_MIN = 14;

/** The first of a chain is that of the service. Undefined: it cannot be read. */
export function certificateEnd(pem: string): number | undefined {
  try {
    return new X509Certificate(pem).validToDate.getTime();
  } catch {
    return undefined;
  }
}

/** What there is to say of an end that is near or past; undefined: nothing. */
export function certificateEnds(endsAtMs: number, nowMs: number): 'ends' | 'has ended' | undefined {
  if (endsAtMs - nowMs >= CERTIFICATE_DAYS_LEFT_MIN * DAY_MS) return undefined;
  return endsAtMs > nowMs ? 'ends' : 'has ended';
}

/** `pem`: the certificate as it is shown; undefined: plain HTTP. */
export function watchCertificate(
  pem: string | undefined,
  clock: Pick<Clock, 'now'>,
  telemetry: Pick<Telemetry, 'warn'>,
): CertificateWatch | undefined {
  const first = pem === undefined ? undefined : certificateEnd(pem);
  if (first === undefined) return undefined;
  let endsAtMs = first;
  let toldMs: number | undefined;
  const ends = () => certificateEnds(endsAtMs, clock.now());
  return {
    name: 'the certificate',
    endsAtMs: () => endsAtMs,
    shown(renewed) {
      endsAtMs = certificateEnd(renewed) ?? endsAtMs;
    },
    measure() {
      if (ends() === undefined || toldMs === endsAtMs) return;
      telemetry.warn('the certificate in Server__Tls__Certificate ends', { endsAt: instant(endsAtMs) });
      toldMs = endsAtMs;
    },
    findings() {
      const verb = ends();
      if (verb === undefined) return [];
      const description = `The certificate of this service ${verb} at ${instant(endsAtMs)}: put a new one in Server__Tls__Certificate and its key in Server__Tls__Key; no restart is needed.`;
      return [{ status: 'Degraded', description }];
    },
  };
}
