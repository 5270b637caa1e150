// The service with its first safeguard taken away: it acknowledges what is not stored yet. For the control of the
// kill test alone.

import type { Appender } from '../../../packages/server/src/admin/measured-log.ts';
import type { AppendResult } from '../../../packages/server/src/streams/log.ts';
import { serveWith } from './serve-with.ts';

const LATE_MS = 100;

/** Says "done" at once and appends later. */
function eager(log: Appender): Appender {
  return {
    append(requests, now) {
      // Without a key nobody could ask.
      if (requests.some(({ records = [] }) => records.length > 0)) return log.append(requests, now);
      setTimeout(() => void log.append(requests, now).catch(() => {}), LATE_MS);
      const results = requests.map(({ drafts }): AppendResult => {
        const place = { status: 'Appended', index: 0, receivedAtMs: now.nowMs } as const;
        return { status: 'Done', outcomes: drafts.map(({ eventId }) => ({ ...place, eventId })) };
      });
      return Promise.resolve(results);
    },
    probe: () => log.probe(),
  };
}

await serveWith({ around: eager });
