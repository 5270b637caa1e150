// The index thread: makes segments, over the one connection that writes to views.db. Entry of a worker.

import { workerData } from 'node:worker_threads';
import { systemClock } from '../../../runtime/clock.ts';
import { createUlids } from '../../../runtime/ids.ts';
import { createSystemRandom } from '../../../runtime/random.ts';
import { createSteadyTime } from '../../../runtime/steady-time.ts';
import { serveThread } from '../../../runtime/thread.ts';
import { ATTEMPTS_MAX } from '../../event-index/index-letter.ts';
import { answerMaker, type MakerMessage } from '../../event-index/store/index-messages.ts';
import { SegmentMaker } from '../../event-index/store/segment-maker.ts';
import type { WriterParts } from '../../event-index/store/segment-writer.ts';
import { Upkeep } from '../../event-index/store/upkeep.ts';
import { type SealingData, sealingWith } from '../../sealing/sealing.ts';
import { openJournalForReading } from '../connection/database.ts';
import { WriteAheadLog } from '../connection/write-ahead-log.ts';
import { JournalEvents } from './journal-events.ts';
import { LetterBox } from './letter-box.ts';
import { SegmentTables } from './segment-tables.ts';
import { openViews } from './views-database.ts';

export interface IndexData {
  readonly directory: string;
  readonly logOrigin: string;
  readonly sealing: SealingData;
  /** What is there is thrown away. */
  readonly isDamaged: boolean;
}

/** Some tens of megabytes. */
const UNFOLDED_PAGES_MAX = 8000;

const { directory, logOrigin, sealing: data, isDamaged } = workerData as IndexData;
const sealing = sealingWith(data);
const journal = openJournalForReading(directory);
const { db, discarded } = openViews(directory, isDamaged, (opened) =>
  new SegmentTables(opened).removeUnlisted(),
);
const wal = new WriteAheadLog(db);
const random = createSystemRandom();
const nextId = createUlids(systemClock, random);
const letters = new LetterBox({ directory, nextId, nowMs: createSteadyTime(systemClock) });
const store = new SegmentTables(db);
const parts: WriterParts = {
  store,
  log: new JournalEvents(journal, logOrigin, (tenant) => store.indexedTo(tenant), sealing.rows),
  clock: systemClock,
  random,
  onUnread: (tenant, index, reason) => letters.add({ tenant, index, reason, attempts: ATTEMPTS_MAX }),
};
const maker = new SegmentMaker(parts);
const upkeep = new Upkeep(parts);

serveThread<MakerMessage>({
  async answer(message) {
    const answer = await answerMaker(
      { maker, upkeep, isBuilding: () => store.isBuilding(), discarded },
      message,
    );
    if (message.verb === 'Turn') store.giveBackSpace();
    if (wal.unfoldedPages() >= UNFOLDED_PAGES_MAX) wal.fold();
    return answer;
  },
  async stop() {
    await maker.stop();
    letters[Symbol.dispose]();
    db.close();
    journal.close();
    sealing[Symbol.dispose]();
  },
});
