// Sends files by SFTP. A file is `<name>.part` until it is whole. A sending that broke off goes on from the size of that, less what
// may have been under way: a server may have written a later piece before an earlier one.

import type { DestinationFault, ExportTarget, Sending, SftpDestination } from '../exports/export-target.ts';
import { DeliveryError, sentBy } from './delivery-error.ts';
import type { GuardedSockets } from './guarded-socket.ts';
import { type SessionParts, SftpSession } from './sftp-session.ts';
import { loadSsh, type SshLibrary } from './ssh-library.ts';

export interface SftpParts extends Pick<SessionParts, 'clock'> {
  readonly sockets: GuardedSockets;
  readonly stepMs?: number;
  readonly load?: () => Promise<SshLibrary>;
}

const STEP_MS = 30_000;
const SSH_PORT = 22;
/** What every server takes at once. */
const PIECE_BYTES = 32 * 1024;
const UNDER_WAY_MAX = 32;
const UNDER_WAY_BYTES_MAX = PIECE_BYTES * UNDER_WAY_MAX;

type SftpSending = Sending<SftpDestination>;

export function createSftpTarget(parts: SftpParts): ExportTarget<SftpDestination> {
  const { sockets, load = loadSsh, stepMs = STEP_MS } = parts;
  return {
    async judge({ host, port = SSH_PORT, privateKey }): Promise<DestinationFault | undefined> {
      const refusal = await sockets.judge({ host, port });
      if (refusal !== undefined) return { field: 'host', issue: refusal };
      const issue = privateKey === undefined ? undefined : issueOfKey(privateKey, await load());
      return issue === undefined ? undefined : { field: 'privateKey', issue };
    },
    send: (sending) => sentBy(() => send(sending, { ...parts, load, stepMs })),
  };
}

async function send(sending: SftpSending, parts: SessionParts): Promise<string> {
  const { destination, fileName, byteLength, signal } = sending;
  using session = await SftpSession.open(destination, signal, parts);
  const path = placeOf(destination, fileName);
  const part = `${path}.part`;
  await sendPart(session, part, sending);
  const size = await session.sizeOf(part);
  if (size !== byteLength)
    throw new DeliveryError(
      'DestinationRefused',
      `the server has ${size ?? 0} bytes of the file, and not ${byteLength}`,
    );
  await session.rename(part, path);
  return locationOf(destination, path);
}

async function sendPart(
  session: SftpSession,
  part: string,
  { read, byteLength, onProgress }: SftpSending,
): Promise<void> {
  const size = (await session.sizeOf(part)) ?? 0;
  const from = size > byteLength ? 0 : Math.max(0, size - UNDER_WAY_BYTES_MAX);
  const handle = await session.open(part, from === 0 ? 'w' : 'r+');
  const underWay: { readonly end: number; readonly written: Promise<void> }[] = [];
  const arrive = async () => {
    const { end, written } = underWay[0]!;
    await written;
    underWay.shift();
    await onProgress(end);
  };
  let at = from;
  for await (const chunk of read(from, byteLength)) {
    const bytes = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength);
    for (let i = 0; i < bytes.length; i += PIECE_BYTES) {
      const piece = bytes.subarray(i, i + PIECE_BYTES);
      const written = session.write(handle, piece, at);
      // It may fail before it is waited for, and then nobody may.
      written.catch(() => undefined);
      at += piece.length;
      underWay.push({ end: at, written });
      if (underWay.length === UNDER_WAY_MAX) await arrive();
    }
  }
  while (underWay.length > 0) await arrive();
  await session.close(handle);
}

/** A path that does not begin with a slash is one below the home of the user. */
function placeOf({ path }: SftpDestination, fileName: string): string {
  return path.endsWith('/') ? `${path}${fileName}` : `${path}/${fileName}`;
}

function locationOf({ host, port = SSH_PORT }: SftpDestination, path: string): string {
  const where = host.includes(':') ? `[${host}]` : host;
  return `sftp://${where}:${port}/${path.replace(/^\/+/, '')}`;
}

/** The forms of which the library knows without a passphrase. It takes a second to refuse others that are as long as they may be. */
const PRIVATE_KEY =
  /^-----BEGIN ((?:OPENSSH|RSA|DSA|EC) PRIVATE KEY)-----\r?\n[A-Za-z0-9+/=\r\n]+-----END \1-----\s*$/;

function issueOfKey(text: string, { utils }: SshLibrary): string | undefined {
  if (text.includes('ENCRYPTED')) return PASSPHRASE;
  const parsed = PRIVATE_KEY.test(text) ? utils.parseKey(text) : NO_KEY;
  if (!(parsed instanceof Error)) return undefined;
  return /encrypted|passphrase/i.test(parsed.message)
    ? PASSPHRASE
    : 'is no private key in the form of OpenSSH or PEM';
}

const PASSPHRASE = 'needs a passphrase; give it without one, since it is stored encrypted';
const NO_KEY = new Error('no private key');
