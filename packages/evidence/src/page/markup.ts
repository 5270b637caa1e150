// The page that verifies exports, as one HTML file: its words and its looks around the script of main.ts. Its policy lets it run this
// script and this style and nothing else: it can load nothing, send nothing and ask no address.

import { toBase64, utf8 } from '../bytes.ts';
import { sha256 } from '../hash/sha256.ts';

export function verifierPage(script: string): string {
  // Either would end the script before its end.
  if (/<\/script|<!--/i.test(script)) throw new Error('the script of the page cannot stand in HTML');
  const policy = [
    "default-src 'none'",
    `script-src '${sourceOf(script)}'`,
    `style-src '${sourceOf(STYLE)}'`,
    "base-uri 'none'",
    "form-action 'none'",
  ].join('; ');
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="${policy}">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Verify an export of an audit log</title>
<style>${STYLE}</style>
</head>
<body>
${BODY}
<script type="module">${script}</script>
</body>
</html>
`;
}

function sourceOf(text: string): string {
  return `sha256-${toBase64(sha256(utf8(text)))}`;
}

const STYLE = `
:root { color-scheme: light dark; --line: light-dark(#c9ced6, #454b55); --soft: light-dark(#f4f6f8, #1d2127); --good: light-dark(#0b6b34, #6fd79a); --bad: light-dark(#a8141b, #ff9a94); --link: light-dark(#0b57b0, #8ab8f5); }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 46rem; padding: 2rem 1rem 4rem; font: 1rem/1.55 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .5rem; }
h2 { font-size: 1.1rem; margin: 0 0 .25rem; }
p { margin: .25rem 0 .75rem; }
[hidden] { display: none !important; }
section > :last-child { margin-bottom: 0; }
section { border: 1px solid var(--line); border-radius: .5rem; padding: 1rem; margin: 1rem 0; }
input[type=file] { display: block; width: 100%; padding: 1.25rem 1rem; border: 2px dashed var(--line); border-radius: .5rem; background: var(--soft); font: inherit; }
textarea { width: 100%; min-height: 4.5rem; font: .9rem/1.4 ui-monospace, monospace; padding: .5rem; border: 1px solid var(--line); border-radius: .35rem; background: var(--soft); color: inherit; }
button { font: inherit; font-weight: 600; padding: .6rem 1.6rem; border: 0; border-radius: .35rem; background: light-dark(#0b57b0, #8ab8f5); color: light-dark(#fff, #10151c); cursor: pointer; }
button:disabled { background: var(--line); color: light-dark(#4a515b, #b6bcc6); cursor: not-allowed; }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px; }
progress { width: 100%; height: 1rem; margin-top: 1rem; display: block; }
code { font: .9em ui-monospace, monospace; }
dl { display: grid; grid-template-columns: minmax(6.5rem, auto) 1fr; gap: .35rem 1rem; margin: .75rem 0 0; }
dt { font-weight: 600; }
dd { margin: 0; unicode-bidi: plaintext; min-width: 0; }
#verdict { border-width: 2px; }
#verdict:focus { outline: none; }
#verdict h2 { font-size: 1.35rem; unicode-bidi: plaintext; }
.verified { border-color: var(--good); } .verified h2 { color: var(--good); }
.refused { border-color: var(--bad); } .refused h2 { color: var(--bad); }
.warning { border-color: var(--bad); }
details { margin: .75rem 0; } summary { cursor: pointer; font-weight: 600; }
@media (max-width: 30rem) { dl { grid-template-columns: 1fr; gap: 0; } dd { margin-bottom: .5rem; } }
`;

const BODY = `<main>
<h1>Verify an export of an audit log</h1>
<p>This page checks that a file of audit events is what the log has recorded and signed: every row of it. It works without a network, and
the files never leave this computer.</p>
<section id="unable" class="warning" role="alert" hidden>
<h2>This browser is too old</h2>
<p>It has no Ed25519 signatures or cannot unpack archives. Use a newer one, or the command <code>tallystick verify export.zip</code>.</p>
</section>
<noscript><section class="warning"><h2>Scripts are off</h2><p>This page verifies by its own script, which is all in this file. Without it, use the command <code>tallystick verify export.zip</code>.</p></section></noscript>
<form id="form">
<section>
<h2><label for="file">1. The export</label></h2>
<p id="file-help">The Zip as you received it. You may also choose the files that were in it, all together. Dropping them anywhere on this page works as well.</p>
<input id="file" type="file" multiple aria-describedby="file-help">
<p id="signed" role="status" hidden>It says that it is signed by the key <code id="signers"></code>. Anybody can write that: only the public key itself, below, shows whether it is true.</p>
</section>
<section>
<h2><label for="key">2. The public key of the log</label></h2>
<p id="key-help">One line, <code>name+id+base64</code>. Get it from another source than the file: a contract, a website, a letter. Anyone who can forge the file can send a key with it.</p>
<textarea id="key" spellcheck="false" autocomplete="off" autocapitalize="off" aria-describedby="key-help"></textarea>
</section>
<button id="verify" disabled>Verify</button>
<progress id="progress" aria-label="Verified so far" hidden></progress>
</form>
<section id="verdict" tabindex="-1" aria-live="polite" aria-labelledby="verdict-title" hidden>
<h2 id="verdict-title"></h2>
<dl id="verdict-rows"></dl>
<details id="meaning">
<summary>What these words mean</summary>
<dl>
<dt>data</dt><dd>Every row was compared with the proof of its event, and the file with its signed checksum.</dd>
<dt>left out</dt><dd>Events that the export did not show to the person who asked for it, by the reason: not cleared for them, or removed under a policy.</dd>
<dt>unproven, in part</dt><dd>Rows, or values in them, for which there is the signature of the log alone.</dd>
<dt>log</dt><dd>The name of the log whose key has signed.</dd>
<dt>range</dt><dd>The part of the log of which the export speaks. Compare it with what you asked for.</dd>
<dt>entries</dt><dd><em>None left out</em>: it is proven that the range is whole. <em>May not be all</em>: every event shown is genuine, but nothing proves that no other one belongs to it.</dd>
<dt>shown</dt><dd>How many events are shown whole, and how many with something withheld from the reader, or deleted under a notice in the log.</dd>
<dt>checkpoint</dt><dd>What the log has signed: its size, and the root hash over all its entries. Keep it: a later one must extend it.</dd>
<dt>filter</dt><dd>What was asked for.</dd>
</dl>
</details>
</section>
<section>
<h2>What this cannot tell you</h2>
<p>That what the log recorded is true: only that it has not been changed since. That you were given the newest export, or all exports. And,
if this page came with the file, that the page is genuine: a forged one would say <em>verified</em> to everything. If that matters, take the page
from somebody you trust (<code>tallystick export page verify.html</code> writes it), or use the command <code>tallystick verify</code>.</p>
</section>
</main>`;
