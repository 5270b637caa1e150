// What a backend provides. Each port lives with the noun that needs it; here they are put together.

import type { TenantId } from '@tallystick/contract';
import type { KeyUseStore } from '../access/key-uses.ts';
import type { OlderKeyStore } from '../access/older-keys.ts';
import type { TenantStore } from '../access/tenants.ts';
import type { EventIndex } from '../events/event-index.ts';
import type { FollowStore } from '../followers/follow-store.ts';
import type { FollowerWork } from '../followers/follower-work.ts';
import type { Nodes } from '../nodes/nodes.ts';
import type { RecordReader } from '../records/records.ts';
import type { LogReader, LogWriter } from '../streams/log.ts';
import type { RemovalStore } from '../streams/removal/removal.ts';
import type { TreeReader, TreeWriter } from '../streams/tree.ts';
import type { WorkStore } from '../work/jobs.ts';

export interface Storage extends AsyncDisposable {
  /** The name under which every log of this installation is signed. */
  readonly logOrigin: string;
  readonly log: LogWriter & LogReader;
  readonly tree: TreeWriter & TreeReader;
  readonly removal: RemovalStore;
  readonly tenants: TenantStore;
  readonly records: RecordReader;
  readonly keyUses: KeyUseStore;
  readonly olderKeys: OlderKeyStore;
  readonly work: WorkStore;
  readonly follows: FollowStore;
  readonly index: EventIndex & FollowerWork;
  /** How this process takes part among others on the same store; undefined: it is alone. */
  readonly nodes: Nodes | undefined;
  /** The key that signs in this store, by its fingerprint: that of the first who asks. */
  settleSigner(fingerprint: string): Promise<string>;
  /** An operator has seen to these logs while no node ran: what nodes have said of them before does not count any more. */
  forgetRefusals(tenants: readonly TenantId[]): Promise<void>;
  /** Resolves soon if the store can be asked; for a store in this process that is always so. */
  answers(): Promise<void>;
}
