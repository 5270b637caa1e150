// Credentials that can be told by their form: private keys, tokens and keys of well-known issuers, our own, and passwords in
// URLs. A password by itself looks like any other word and is not found. A text is cut into runs of the characters that tokens
// are made of, so that each character is looked at a fixed number of times.

/** The parts of a JSON Web Token may be as short as this; every other token is longer. */
const RUN = /[\w-]{10,}/g;

/** Beginnings of tokens, each with what follows to the end of the run. */
const TOKENS: readonly (readonly [beginning: string, rest: RegExp])[] = [
  // Our own API keys.
  ['tsk_', /^[0-7][0-9A-HJKMNP-TV-Z]{25}_[0-9A-HJKMNP-TV-Z]{32}_[0-9A-HJKMNP-TV-Z]{7}$/],
  // AWS
  ...['AKIA', 'ASIA', 'ABIA', 'ACCA'].map((beginning) => [beginning, /^[A-Z\d]{16}$/] as const),
  // GitHub, GitLab
  ...['ghp_', 'gho_', 'ghu_', 'ghs_', 'ghr_'].map((beginning) => [beginning, /^[A-Za-z\d]{36,}$/] as const),
  ['github_pat_', /^\w{22,}$/],
  ['glpat-', /^[\w-]{20,}$/],
  // Slack
  ...['xoxa-', 'xoxb-', 'xoxe-', 'xoxp-', 'xoxr-', 'xoxs-', 'xapp-'].map(
    (beginning) => [beginning, /^[A-Za-z\d-]{10,}$/] as const,
  ),
  // Google
  ['AIza', /^[\w-]{35}$/],
  ['GOCSPX-', /^[\w-]{20,}$/],
  // Stripe
  ...['sk_live_', 'sk_test_', 'rk_live_', 'rk_test_'].map(
    (beginning) => [beginning, /^[A-Za-z\d]{16,}$/] as const,
  ),
  // npm, PyPI, Docker, Hugging Face, Shopify, DigitalOcean
  ['npm_', /^[A-Za-z\d]{36}$/],
  ['pypi-', /^[\w-]{50,}$/],
  ['dckr_pat_', /^[\w-]{20,}$/],
  ['hf_', /^[A-Za-z\d]{30,}$/],
  ['shpat_', /^[a-f\d]{32}$/i],
  ['dop_v1_', /^[a-f\d]{64}$/i],
  // OpenAI, Anthropic
  ['sk-', /^(?=[^\d]{0,60}\d)[\w-]{32,}$/],
];

/** Each begins with a fixed text and goes on for a bounded length. */
const FORMS: readonly RegExp[] = [
  /-----BEGIN [A-Z\d ]{0,40}PRIVATE KEY/,
  /(?<![\w-])whsec_[\w+/-]{24,90}/,
  /(?<![\w-])SG\.[\w-]{16,32}\.[\w-]{32,64}/,
  /(?<![\w-])ya29\.[\w-]{20}/,
  /hooks\.slack\.com\/services\/[A-Z\d]{8,12}\/[A-Z\d]{8,12}\/[A-Za-z\d]{20}/,
  /AccountKey=[A-Za-z\d+/]{80}/,
  // A password in a URL: neither part has what begins another URL, so that no two attempts overlap.
  /:\/\/[^\s:@/]{1,128}:[^\s:@/]{1,256}@[^\s@/]/,
];

const BEARER = /\bBearer {1,4}([\w.~+/=-]{12,})/gi;

export function hasSecret(text: string): boolean {
  return FORMS.some((form) => form.test(text)) || hasToken(text) || hasBearer(text);
}

function hasToken(text: string): boolean {
  // The two runs before, where a dot alone joins them to this one: a JSON Web Token has three.
  let [header, payload]: (string | undefined)[] = [];
  let end = -1;
  for (const { 0: run, index } of text.matchAll(RUN)) {
    const isJoined = end === index - 1 && text[end] === '.';
    if (isJoined && header?.startsWith('eyJ') && payload !== undefined) return true;
    if (TOKENS.some(([beginning, rest]) => isToken(run, beginning, rest))) return true;
    [header, payload] = isJoined && header !== undefined ? [payload ?? header, run] : [run, undefined];
    end = index + run.length;
  }
  return false;
}

function isToken(run: string, beginning: string, rest: RegExp): boolean {
  return run.startsWith(beginning) && rest.test(run.slice(beginning.length));
}

/** Words of prose that follow "bearer" have no digits. */
function hasBearer(text: string): boolean {
  for (const [, token = ''] of text.matchAll(BEARER)) if (/\d/.test(token)) return true;
  return false;
}
