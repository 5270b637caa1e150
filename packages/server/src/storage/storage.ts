// The interface of a backend. Each port lives with the noun that needs it; this file combines them.

import type { TenantId } from '@tallystick/contract';
import type { KeyUseStore } from '../access/key-uses.ts';
import type { OlderKeyStore } from '../access/older-keys.ts';
import type { TenantStore } from '../access/tenants.ts';
import type { ViolationStore } from '../alerts/violations.ts';
import type { EventIndex } from '../events/event-index.ts';
import type { FollowStore } from '../followers/follow-store.ts';
import type { FollowerWork } from '../followers/follower-work.ts';
import type { SecretKeys } from '../keys/secret-box.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { RecordReader } from '../records/records.ts';
import type { LogReader, LogWriter } from '../streams/log.ts';
import type { RemovalStore } from '../streams/removal/removal.ts';
import type { TenantKeyStore } from '../streams/removal/tenant-keys.ts';
import type { TreeReader, TreesWith, TreeWriter } from '../streams/tree.ts';
import type { WorkStore } from '../work/jobs.ts';

/** What a thread needs to open the log for reading: data alone, for the backend that has made it (`openLogForReading`). */
export interface LogPlace {
  readonly of: 'SQLite' | 'PostgreSQL';
  readonly data: object;
}

/** What a thread has opened in this place. */
export interface LogElsewhere extends AsyncDisposable {
  readonly log: LogReader;
  readonly trees: TreesWith<'evidenceRange' | 'tree'>;
}

export interface Storage extends AsyncDisposable {
  /** The name under which every log of this installation is signed. */
  readonly logOrigin: string;
  readonly log: LogWriter & LogReader;
  readonly logPlace: LogPlace;
  readonly tree: TreeWriter & TreeReader;
  readonly removal: RemovalStore;
  readonly tenantKeys: TenantKeyStore;
  readonly secretKeys: SecretKeys;
  readonly tenants: TenantStore;
  readonly records: RecordReader;
  readonly keyUses: KeyUseStore;
  readonly olderKeys: OlderKeyStore;
  readonly work: WorkStore;
  readonly follows: FollowStore;
  readonly violations: ViolationStore;
  readonly index: EventIndex & FollowerWork;
  /** The membership of this process among the nodes on the same store; undefined if it is alone. */
  readonly nodes: Nodes | undefined;
  /** The fingerprint of the key that signs in this store: the first call decides. */
  settleSigner(fingerprint: string): Promise<string>;
  /** An operator has handled these logs while no node ran: earlier refusals no longer count. */
  forgetRefusals(tenants: readonly TenantId[]): Promise<void>;
  /** Resolves soon if the store is reachable; a store in this process always is. */
  answers(): Promise<void>;
}
