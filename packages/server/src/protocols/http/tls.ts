// TLS of the listener: which versions it speaks, and the certificate that it shows, which may be exchanged while it serves.

import type { Server } from 'node:net';
import { type SecureContextOptions, Server as TlsServer } from 'node:tls';
import type { TlsFiles } from '../../config/tls-files.ts';

export function secureContextOf({ certificate, key }: TlsFiles): SecureContextOptions {
  // Said here, because a flag of Node could lower it.
  return { cert: certificate, key, minVersion: 'TLSv1.2' };
}

/** New connections get this one, and no session of the old one is resumed; connections that are open stay as they are. */
export function exchangeCertificate(server: Server, files: TlsFiles): void {
  if (!(server instanceof TlsServer)) throw new Error('the listener speaks no TLS');
  server.setSecureContext(secureContextOf(files));
}
