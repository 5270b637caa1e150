// Preloaded by every process of a test run: what a bundle was made of is loaded from there, where it is what a process or a
// thread begins with. In plain JavaScript, because it is loaded thousands of times.

import { readFileSync } from 'node:fs';
import { registerHooks } from 'node:module';

const LAUNCHER = '/packages/cli/bin/tallystick.js';
const list = process.env['TALLYSTICK_TEST_BUNDLES'];
const bundles = list === undefined ? {} : JSON.parse(readFileSync(list, 'utf8'));

registerHooks({
  resolve(specifier, context, next) {
    const isFirst = context.parentURL === undefined || context.parentURL.endsWith(LAUNCHER);
    if (!isFirst) return next(specifier, context);
    const found = next(specifier, context);
    const url = bundles[found.url];
    return url === undefined ? found : { url, format: 'module', shortCircuit: true };
  },
});
