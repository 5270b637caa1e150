// The follower of the index in a thread of its own. What it makes can be made again, so a thread that dies takes nothing with
// it: the next call starts another. None is started before it is needed, so that the service is ready without
// waiting for it.

import type { TenantId } from '@tallystick/contract';
import type { BuildStep } from '../../../events/event-index.ts';
import type { FollowerTurn } from '../../../followers/follower-work.ts';
import { type ThreadHandle, threadsBeside } from '../../../runtime/thread.ts';
import type { HeldShares } from '../nodes/held-shares.ts';
import type { FollowerOfIndex } from './event-index.ts';
import type { IndexData, IndexMessage } from './index-thread.ts';

const startThread = threadsBeside(import.meta.url);

export interface ThreadedFollowerParts extends Pick<IndexData, 'connecting'> {
  readonly held: HeldShares;
  /** Told that the thread has died. */
  readonly onTrouble: (what: string, error: Error) => void;
}

export class ThreadedFollower implements FollowerOfIndex, AsyncDisposable {
  readonly #parts: ThreadedFollowerParts;
  #thread: ThreadHandle<IndexMessage> | undefined;
  #isStopping = false;

  constructor(parts: ThreadedFollowerParts) {
    this.#parts = parts;
    parts.held.handOnTo((leases, remainingNs) => {
      // One that is started later is told then.
      this.#thread?.ask({ verb: 'Held', leases, remainingNs }).catch(() => {});
    });
  }

  // The thread answers what the follower gave it, so these casts only repeat its types.
  async turn(): Promise<FollowerTurn> {
    return (await this.#open().ask({ verb: 'Turn' })) as FollowerTurn;
  }

  async build(tenant: TenantId): Promise<BuildStep> {
    return (await this.#open().ask({ verb: 'Build', tenant })) as BuildStep;
  }

  async indexAgain(tenant: TenantId, index: number): Promise<string | undefined> {
    return (await this.#open().ask({ verb: 'IndexAgain', tenant, index })) as string | undefined;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopping = true;
    await this.#thread?.[Symbol.asyncDispose]();
  }

  #open(): ThreadHandle<IndexMessage> {
    if (this.#isStopping) throw new Error('the index is stopping');
    if (this.#thread !== undefined && this.#thread.crash === undefined) return this.#thread;
    const { connecting, held, onTrouble } = this.#parts;
    const data: IndexData = { connecting, areDivided: held.areDivided };
    const thread = startThread<IndexMessage>('index-thread', data, (error) =>
      onTrouble('the index thread has died', error),
    );
    this.#thread = thread;
    held.tell((leases, remainingNs) => {
      thread.ask({ verb: 'Held', leases, remainingNs }).catch(() => {});
    });
    return thread;
  }
}
