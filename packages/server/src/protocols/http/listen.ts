// Listening, and the address under which the server is then reached.

import type { AddressInfo, Server } from 'node:net';
import { Server as TlsServer } from 'node:tls';
import { StartError } from '../../start-error.ts';

/** Resolves with the address, with the port that was found where 0 was asked for; throws StartError. */
export function listen(
  server: Server,
  { host, port }: { host: string; port: number },
  setting = 'Server__Port',
): Promise<string> {
  return new Promise((resolve, reject) => {
    const fail = (error: NodeJS.ErrnoException) => {
      const inUse = error.code === 'EADDRINUSE';
      const why = inUse ? 'the address is already in use' : (error.code ?? error.message);
      reject(new StartError(`cannot listen on ${host}:${port}: ${why}; see Server__Host and ${setting}`));
    };
    server.once('error', fail);
    server.listen(port, host, () => {
      server.removeListener('error', fail);
      resolve(addressOf(server, host));
    });
  });
}

function addressOf(server: Server, host: string): string {
  const { port } = server.address() as AddressInfo;
  const scheme = server instanceof TlsServer ? 'https' : 'http';
  return `${scheme}://${host.includes(':') ? `[${host}]` : host}:${port}`;
}
