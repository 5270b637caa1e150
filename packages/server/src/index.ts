// The Tallystick service, as its command uses it.

export { ConfigError } from './config/config-error.ts';
export { showAsJson, showAsText } from './config/show.ts';
export { EXIT, loadSettings, type RunOptions, runServer } from './main.ts';
