// The log on PostgreSQL with its writer in this thread.

import { createLogWith, type LogParts, writesHere } from '../storage/postgres/log/log.ts';
import type { LogReader, LogWriter } from '../streams/log.ts';

export function createLog(parts: LogParts): LogWriter & LogReader {
  return createLogWith(writesHere(parts), parts);
}
