// The port to places that files of exports are sent to: outbound/sftp.ts and outbound/s3.ts are ways there. What is sent has its name at
// the destination only when it is whole, and a sending that broke off goes on from what is there.

import type { DeliveryDestination } from '@tallystick/contract';

export type SftpDestination = Extract<DeliveryDestination, { type: 'Sftp' }>;
export type ObjectStorageDestination = Extract<DeliveryDestination, { type: 'ObjectStorage' }>;

export interface Sending<D extends DeliveryDestination = DeliveryDestination> {
  readonly destination: D;
  readonly fileName: string;
  readonly mediaType: string;
  readonly byteLength: number;
  /** Its bytes are always the same. */
  readonly read: (from: number, end: number) => AsyncIterable<Uint8Array>;
  /** Aborted: rejects soon. */
  readonly signal: AbortSignal;
  /** So many bytes have arrived. To reject ends the sending. */
  readonly onProgress: (bytes: number) => Promise<void>;
}

/** What is wrong with a destination. It shows no secret, and no address that a name leads to. */
export interface DestinationFault {
  readonly field: string;
  readonly issue: string;
}

export interface ExportTarget<D extends DeliveryDestination = DeliveryDestination> {
  /** By what is known now: a name that leads nowhere may lead somewhere later. */
  judge(destination: D): Promise<DestinationFault | undefined>;
  /** Rejects with the reason of the signal, and with what reading and progress reject with. */
  send(sending: Sending<D>): Promise<Sent>;
}

export interface ExportTargets {
  readonly Sftp: ExportTarget<SftpDestination>;
  readonly ObjectStorage: ExportTarget<ObjectStorageDestination>;
}

export type DeliveryFaultReason =
  | 'HostKeyMismatch'
  | 'AuthenticationFailed'
  | 'NotAllowed'
  | 'ResidencyViolation'
  | 'Unreachable'
  | 'Timeout'
  | 'DestinationRefused'
  | 'FileUnavailable'
  | 'Internal';

/** Why a file was not sent. */
export interface DeliveryFault {
  readonly reason: DeliveryFaultReason;
  /** Shown to callers. */
  readonly message: string;
  /** Another attempt would end the same way. */
  readonly isFinal: boolean;
  /** For diagnostics. */
  readonly cause?: unknown;
}

export type Sent =
  | { readonly status: 'Sent'; readonly location: string }
  | { readonly status: 'Failed'; readonly fault: DeliveryFault };
