import { createHash } from 'node:crypto'
import { SOLVER } from './solver.js'

/** Path that solutions are posted to, on every host. */
export const SOLUTION_PATH = '/cdn-cgi/challenge-platform/v1/solution'

const STYLE = `
:root{color-scheme:light dark}
body{margin:0;min-height:100vh;display:grid;place-items:center;font:17px/1.6 system-ui,sans-serif;background:#fafafa;color:#222}
main{max-width:34rem;padding:2rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}
progress{width:100%;accent-color:#c2410c}
button{font:inherit;padding:.4rem 1.2rem}
dl{margin:2rem 0 0;padding-top:1rem;border-top:1px solid #ddd;font-size:.85rem;color:#595959;display:grid;grid-template-columns:auto 1fr;gap:0 1rem}
dd{margin:0;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{background:#18181b;color:#e4e4e7}dl{border-color:#3f3f46;color:#a1a1aa}}
`

const hashed = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Allows the page to run its own script and style and to post its form to its own host, and nothing else. */
export const PAGE_POLICY = [
  `default-src 'none'`,
  `script-src ${hashed(SOLVER)}`,
  `style-src ${hashed(STYLE)}`,
  `form-action 'self'`,
  `base-uri 'none'`,
  `frame-ancestors 'self'`,
].join('; ')

/**
 * Returns the page that makes a browser prove work and post the proof. The page is self-contained and has no data of
 * the request. `ticket` and `rayId` consist of characters without a meaning in HTML.
 */
export function challengePage({ ticket, bits, rayId }: { ticket: string; bits: number; rayId: string }): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>Checking your browser</title>
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>Checking your browser</h1>
<noscript><p>This site checks visitors with a short script. Allow JavaScript for it and load the page again.</p></noscript>
<form method="post" action="${SOLUTION_PATH}" data-bits="${bits}" hidden>
<p id="status" role="status">Your browser is at work on a small task. The page goes on by itself within a few seconds.</p>
<progress aria-labelledby="status"></progress>
<input type="hidden" name="ticket" value="${ticket}">
<input type="hidden" name="nonce" value="">
<input type="hidden" name="to" value="/">
</form>
<dl><dt>Ray ID</dt><dd>${rayId}</dd></dl>
</main>
<script>${SOLVER}</script>
</body>
</html>
`
}
