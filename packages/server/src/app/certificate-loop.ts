// Takes up a renewed certificate and its key while the service runs. Both files are read again and again, because no notice of a
// change reaches us from every file system, nor through the links by which orchestrators exchange secrets. A pair that cannot be
// used, such as a new certificate whose key is still to come, is left alone: the one in use goes on serving.

import { X509Certificate } from 'node:crypto';
import type { Server } from 'node:net';
import { ConfigError } from '../config/config-error.ts';
import { readTlsFilesAgain, tlsFileNames, type TlsFiles } from '../config/tls-files.ts';
import { exchangeCertificate } from '../protocols/http/tls.ts';
import { startLoop } from '../runtime/loop.ts';
import type { Surroundings } from './surroundings.ts';
import type { Watches } from './watches-on.ts';

/** A change is taken up within 10 s, also on a machine that is busy. */
const LOOK_MS = 2000;

/** `inUse` is what the listeners were made with. */
export function startCertificateLoop(
  inUse: TlsFiles,
  servers: readonly Server[],
  watches: Pick<Watches, 'certificateShown'>,
  { config, clock, random, telemetry }: Pick<Surroundings, 'config' | 'clock' | 'random' | 'telemetry'>,
): AsyncDisposable {
  const names = tlsFileNames(config);
  if (names === undefined) throw new Error('the settings name no certificate');
  /** What the last warning was about: a file that stays unusable is told of once. */
  let told: string | undefined;
  const look = async () => {
    const found = await readTlsFilesAgain(names);
    told = undefined;
    if (found.certificate === inUse.certificate && found.key === inUse.key) return;
    const { validTo, serialNumber } = new X509Certificate(found.certificate);
    for (const server of servers) exchangeCertificate(server, found);
    watches.certificateShown(found.certificate);
    inUse = found;
    telemetry.info('a new certificate is in use', { file: names.certificate, serialNumber, validTo });
  };
  return startLoop({
    clock,
    random,
    paceMs: LOOK_MS,
    turn: look,
    backOffMs: LOOK_MS,
    backOffMsMax: LOOK_MS,
    onFailure: ({ error }) => {
      const cause = error instanceof ConfigError ? error.problems.join('; ') : String(error);
      if (cause === told) return;
      told = cause;
      telemetry.warn('the certificate in use stays, because the one in the files cannot be used', { cause });
    },
    onBroken: (error) => telemetry.error('the certificate is not renewed any more', error),
  });
}
