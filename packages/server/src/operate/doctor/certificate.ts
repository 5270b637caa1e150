// The certificate of the service and its key.

import { CERTIFICATE_DAYS_LEFT_MIN, certificateEnd, certificateEnds } from '../../admin/certificate-watch.ts';
import { ConfigError } from '../../config/config-error.ts';
import type { Config } from '../../config/settings.ts';
import { readTlsFiles } from '../../config/tls-files.ts';
import { instant, systemClock } from '../../runtime/clock.ts';
import type { Examined } from './examined.ts';

export function examineCertificate(config: Config): Examined {
  try {
    const files = readTlsFiles(config);
    if (files === undefined) return { problems: [], measured: 'none: plain HTTP' };
    const endsAtMs = certificateEnd(files.certificate)!;
    const measured = `ends at ${instant(endsAtMs)}`;
    const ends = certificateEnds(endsAtMs, systemClock.now());
    if (ends === undefined) return { problems: [], measured };
    const what = `the certificate in Server__Tls__Certificate ${ends} at ${instant(endsAtMs)}; at least ${CERTIFICATE_DAYS_LEFT_MIN} days should be left`;
    const remedy = 'put a new one and its key there: a running service takes them up';
    return { problems: [{ what, remedy }], measured };
  } catch (error) {
    if (!(error instanceof ConfigError)) throw error;
    const remedy = 'put a certificate and its key there, readable by the user that runs the service';
    return { problems: error.problems.map((what) => ({ what, remedy })) };
  }
}
