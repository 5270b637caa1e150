// A search thread: answers questions over connections that cannot write. Entry of a worker.

import { workerData } from 'node:worker_threads';
import type { TenantId } from '@tallystick/contract';
import type { Question } from '../../../events/event-index.ts';
import { openJournalForReading } from '../connection/database.ts';
import { serveThread } from '../../../runtime/thread.ts';
import { IndexReader } from './index-reader.ts';
import type { StopFlag } from './stop.ts';
import { openViewsForReading } from './views-database.ts';

export interface SearchData {
  readonly directory: string;
  readonly logOrigin: string;
}

export type SearchMessage =
  | {
      readonly verb: 'Find';
      readonly tenant: TenantId;
      readonly question: Question;
      readonly nowMs: number;
      readonly stop: StopFlag;
    }
  | { readonly verb: 'State'; readonly tenant: TenantId; readonly nowMs: number }
  | { readonly verb: 'StateOfAll'; readonly nowMs: number };

const { directory, logOrigin } = workerData as SearchData;
const journal = openJournalForReading(directory);
const views = openViewsForReading(directory);
const reader = new IndexReader({ journal, views, logOrigin });

serveThread<SearchMessage>({
  answer(message) {
    switch (message.verb) {
      case 'Find':
        return { value: reader.find(message.tenant, message.question, message.nowMs, message.stop) };
      case 'State':
        return { value: reader.state(message.tenant, message.nowMs) };
      case 'StateOfAll':
        return { value: reader.stateOfAll(message.nowMs) };
    }
  },
  stop() {
    views.close();
    journal.close();
  },
});
