// Where the anchor is kept, as the settings say.

import type { Config } from './settings.ts';

export function anchorPlace({ log, storage }: Pick<Config, 'log' | 'storage'>): string {
  return log.anchor ?? storage.dataDirectory;
}
