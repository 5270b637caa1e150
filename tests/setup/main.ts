// Done once for a whole test run.

import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { bundleStarted } from './bundle.ts';

export async function globalSetup(): Promise<void> {
  process.env['TALLYSTICK_TEST_BUNDLES'] = await bundleStarted();
  const preload = pathToFileURL(join(import.meta.dirname, 'redirect.js')).href;
  process.env['NODE_OPTIONS'] = `${process.env['NODE_OPTIONS'] ?? ''} --import=${preload}`.trim();
}
