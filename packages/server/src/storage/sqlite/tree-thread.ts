// The tree thread: reads back what was appended, on a connection that cannot write, and recomputes it. Entry of a worker.

import { workerData } from 'node:worker_threads';
import type { TenantId } from '@tallystick/contract';
import { openJournalForReading } from './database.ts';
import { serveThread } from '../../runtime/thread.ts';
import { type PublishedSize, TreeGrowth } from './tree-growth.ts';

export interface TreeData {
  readonly directory: string;
  readonly logOrigin: string;
}

export type TreeMessage =
  | { readonly verb: 'Standings' }
  | { readonly verb: 'StopAt'; readonly tenant: TenantId; readonly size: number }
  | { readonly verb: 'Read' }
  | { readonly verb: 'Published'; readonly sizes: readonly PublishedSize[] };

const { directory, logOrigin } = workerData as TreeData;
const db = openJournalForReading(directory);
const growth = new TreeGrowth(db, logOrigin);

serveThread<TreeMessage>({
  answer(message) {
    switch (message.verb) {
      case 'Standings':
        return { value: growth.standings() };
      case 'StopAt':
        return { value: growth.stopAt(message.tenant, message.size) };
      case 'Read':
        return { value: growth.read() };
      case 'Published':
        return { value: growth.published(message.sizes) };
    }
  },
  stop: () => db.close(),
});
