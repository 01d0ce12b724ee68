import { STATUS_CODES } from 'node:http'
import { preferredType } from '../../http/accept.js'
import type { WorkerErrorName } from './worker-sites.js'
import type { ErrorPageReason } from '../../rules/types.js'

/** Content of an error response. It contains nothing else about the proxy. */
export interface ErrorFacts {
  readonly status: number
  readonly rayId: string
  /** Milliseconds since 1970. */
  readonly at: number
  /** Name of the zone. Undefined if the request reached none. */
  readonly zone?: string | undefined
  /** Explanation of this case. Default: the explanation of the status. Shown to every client, escaped. */
  readonly detail?: string | undefined
  /** Advice to the owner of the website instead of the advice of the status. Only the owner can mend such an error. */
  readonly ownerAdvice?: string | undefined
  /** Seconds after which another attempt may succeed. */
  readonly retryAfter?: number | undefined
  /** The decision of a rule that causes this response. Without it the status alone explains the response. */
  readonly reason?: ErrorPageReason | WorkerErrorName | undefined
}

/** A complete response: header fields in lower case, including `content-length`, and the body (omitted on HEAD). */
export interface ErrorPage {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: Buffer
}

type Category = 'request' | 'edge' | 'origin' | 'rule'

interface Explanation {
  readonly category: Category
  /** Whether the same request may succeed later. */
  readonly retryable: boolean
  readonly happened: string
  readonly advice: string
}

const refused = (happened: string, advice: string): Explanation => ({
  category: 'request',
  retryable: false,
  happened,
  advice,
})
const failed = (category: Category, happened: string, advice: string): Explanation => ({
  category,
  retryable: true,
  happened,
  advice,
})

const LATER = 'Try again in a moment. If the error repeats, send the Ray ID of this page to the owner of the website.'

const EXPLANATIONS: Readonly<Record<number, Explanation>> = {
  400: refused('The request is not valid HTTP, so it was not forwarded.', 'Correct the request and send it again.'),
  401: refused('This address requires credentials.', 'Send the request again with valid credentials.'),
  403: refused(
    'The owner of this website does not allow this request.',
    'Send the Ray ID of this page to the owner of the website.',
  ),
  404: refused('No website is configured for this hostname.', 'Check the address for a mistake.'),
  405: refused('This method is not supported here.', 'Use one of the methods that the Allow header lists.'),
  408: failed('request', 'The request did not arrive in time.', 'Send the request again.'),
  411: refused('The length of the request body is missing.', 'Send the request with a Content-Length.'),
  413: refused('The request body is larger than this website accepts.', 'Send a smaller body.'),
  414: refused('The address is longer than this website accepts.', 'Use a shorter address.'),
  417: refused('The expectation in the request cannot be met.', 'Send the request without the Expect header.'),
  421: refused('This server does not serve that website.', 'Open a new connection and try again.'),
  429: failed('edge', 'Too many requests arrived in a short time.', 'Wait a little before the next request.'),
  431: refused(
    'The header fields of the request are larger than this website accepts.',
    'Send fewer or shorter headers.',
  ),
  500: failed('edge', 'An internal error occurred while the request was handled.', LATER),
  501: refused('This type of request is not supported.', 'Use another method or transfer coding.'),
  502: failed('origin', 'The origin server did not send a valid response.', LATER),
  503: failed('edge', 'The server is at its limit and cannot serve this request now.', LATER),
  504: failed('origin', 'The origin server did not respond in time.', LATER),
  505: refused('This version of HTTP is not supported.', 'Use HTTP/1.1.'),
  508: refused(
    'The request returned to this proxy in a loop.',
    'Send the Ray ID of this page to the owner of the website.',
  ),
}

/** Decisions of rules with a separate explanation, by machine-readable name. */
const REASONS = {
  access_denied: {
    code: 1020,
    category: 'rule',
    retryable: false,
    happened: 'A rule of this website does not allow this request.',
    advice: 'Send the Ray ID of this page to the owner of the website.',
  },
  rate_limited: {
    code: 1015,
    category: 'rule',
    retryable: true,
    happened: 'The request exceeds a rate limit of this website.',
    advice: 'Wait for the time in the Retry-After header before the next request.',
  },
  challenge_required: {
    code: undefined,
    category: 'rule',
    retryable: false,
    happened: 'This website checks visitors before they can see this page.',
    advice: 'Open the page in a browser with JavaScript and cookies enabled.',
  },
  worker_exception: {
    code: 1101,
    category: 'origin',
    retryable: false,
    happened: 'The Worker of this website threw an exception.',
    advice: LATER,
  },
  worker_limit: {
    code: 1102,
    category: 'origin',
    retryable: true,
    happened: 'The Worker of this website exceeded a limit of this server.',
    advice: LATER,
  },
  worker_loop: {
    code: 1019,
    category: 'origin',
    retryable: false,
    happened: 'The Workers of this website call each other in a loop.',
    advice: LATER,
  },
  worker_missing: {
    code: 1104,
    category: 'origin',
    retryable: false,
    happened: 'The Worker of this address does not exist.',
    advice: LATER,
  },
  worker_data_away: {
    code: 1105,
    category: 'origin',
    retryable: true,
    happened: 'The machine with the data of the Worker of this website does not respond.',
    advice: LATER,
  },
} as const satisfies Readonly<Record<ErrorPageReason | WorkerErrorName, Explanation & { code: number | undefined }>>

const explanation = (status: number): Explanation =>
  EXPLANATIONS[status] ??
  (status < 500
    ? refused('The request was rejected.', 'Correct the request and send it again.')
    : failed('edge', 'The request could not be served.', LATER))

type Facts = ReturnType<typeof factsOf>

const FOOTER = 'This response was generated by edged on behalf of the owner of the website.'

/** Returns the members of every form, by their machine-readable names. */
function factsOf({ status, rayId, at, zone, detail, ownerAdvice, retryAfter, reason }: ErrorFacts) {
  const explained = reason ? REASONS[reason] : explanation(status)
  const { category, retryable, happened, advice } =
    ownerAdvice === undefined ? explained : { ...explained, category: 'origin' as const, advice: ownerAdvice }
  const code = reason && REASONS[reason].code
  const title = STATUS_CODES[status] ?? (status < 500 ? 'Request Refused' : 'Server Error')
  return {
    code,
    members: {
      // The status explains the problem, so there is no separate type (RFC 9457).
      type: 'about:blank',
      title,
      status,
      detail: detail ?? happened,
      instance: rayId,
      error_code: code ?? status,
      error_name: reason ?? title.toLowerCase().replaceAll(/[^a-z]+/g, '_'),
      error_category: category,
      http_status: status,
      ray_id: rayId,
      timestamp: new Date(at).toISOString(),
      zone: zone ?? null,
      // Named by the public API. Clients read it to distinguish these documents from documents of the origin.
      cloudflare_error: true,
      retryable,
      retry_after: retryAfter ?? null,
      owner_action_required: category === 'origin' || status === 508,
      what_you_should_do: advice,
      footer: FOOTER,
    },
  }
}

const escapeHtml = (text: string): string => text.replaceAll(/[&<>"']/g, (char) => `&#${char.charCodeAt(0)};`)

const escapeMarkdown = (text: string): string =>
  text.replaceAll(/[\r\n]+/g, ' ').replaceAll(/[\\`*_[\]<>|~&#]/g, (char) => `\\${char}`)

const STYLE = `:root{color-scheme:light dark}
body{margin:0;min-height:100vh;display:grid;place-items:center;font:17px/1.6 system-ui,sans-serif;background:#fafafa;color:#222}
main{max-width:34rem;padding:2rem}
h1{font-size:1.6rem;line-height:1.25;margin:0 0 1rem}
h1 b{color:#c2410c;font-weight:600}
dl{margin:2rem 0 0;padding-top:1rem;border-top:1px solid #ddd;font-size:.85rem;color:#666;display:grid;grid-template-columns:auto 1fr;gap:0 1rem}
dd{margin:0;font-family:ui-monospace,monospace;overflow-wrap:anywhere}
@media(prefers-color-scheme:dark){body{background:#18181b;color:#e4e4e7}h1 b{color:#fb923c}dl{border-color:#3f3f46;color:#a1a1aa}}`

function html({ code, members }: Facts): string {
  const { status, title, detail, what_you_should_do: advice, ray_id: rayId, timestamp } = members
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="robots" content="noindex">
<title>${status} ${escapeHtml(title)}</title>
<style>
${STYLE}
</style>
</head>
<body>
<main>
<h1><b>${status}</b> ${escapeHtml(title)}</h1>
<p>${escapeHtml(detail)}</p>
<p>${escapeHtml(advice)}</p>
<dl>
${code === undefined ? '' : `<dt>Error</dt><dd>${code}</dd>\n`}<dt>Ray ID</dt><dd>${escapeHtml(rayId)}</dd>
<dt>Time</dt><dd>${timestamp}</dd>
</dl>
</main>
</body>
</html>
`
}

function markdown({ members }: Facts): string {
  const { status, title, detail, what_you_should_do: advice } = members
  // A JSON string is also a YAML value, and a quoted one cannot become a number or a second line.
  const frontMatter = Object.entries(members).map(([name, value]) => `${name}: ${JSON.stringify(value)}`)
  return `---
${frontMatter.join('\n')}
---

# ${status} ${escapeMarkdown(title)}

## What Happened

${escapeMarkdown(detail)}

## What You Should Do

${escapeMarkdown(advice)}
`
}

/** Returns HTML that explains an error, for pages of the owner of a site. */
export function errorBox(facts: ErrorFacts): string {
  const { code, members } = factsOf(facts)
  const { status, title, detail, what_you_should_do: advice, ray_id: rayId, timestamp } = members
  return `<div class="cf-error-details"><h1>${code ?? status} ${escapeHtml(title)}</h1><p>${escapeHtml(detail)}</p><p>${escapeHtml(advice)}</p><ul><li>Ray ID: ${escapeHtml(rayId)}</li><li>Time: ${timestamp}</li></ul></div>`
}

const json = ({ members }: Facts): string => `${JSON.stringify(members)}\n`

const FORMS: Readonly<Record<string, (facts: Facts) => string>> = {
  'text/html': html,
  'text/markdown': markdown,
  'application/json': json,
  'application/problem+json': json,
}
const OFFERED = Object.keys(FORMS)
/** As the public API documents it, `text/*` gets Markdown. Browsers name `text/html`. */
const OFFERED_AS_TEXT = ['text/markdown', ...OFFERED]

/** Longer ones are ignored. No client needs a longer one, and the work is bounded. */
const MAX_ACCEPT = 1024

/** Highest quality wins, then the order in the header. Clients that accept anything (or no supported type) get HTML. */
function form(accept: string | undefined): string {
  if (!accept || accept.length > MAX_ACCEPT) return 'text/html'
  return preferredType(accept, /text\/\*/i.test(accept) ? OFFERED_AS_TEXT : OFFERED) ?? 'text/html'
}

/**
 * Returns the response for an error, in the form that `accept` (the Accept header) asks for: HTML, Markdown, JSON or
 * problem+json.
 */
export function errorPage(accept: string | undefined, facts: ErrorFacts): ErrorPage {
  const type = form(accept)
  const body = Buffer.from((FORMS[type] ?? html)(factsOf(facts)))
  return {
    status: facts.status,
    headers: {
      'content-type': type.startsWith('text/') ? `${type}; charset=utf-8` : type,
      'content-length': String(body.length),
      'cache-control': 'no-store',
      vary: 'accept',
      'x-content-type-options': 'nosniff',
      ...(type === 'text/html' && { 'content-security-policy': "default-src 'none'; style-src 'unsafe-inline'" }),
      ...(facts.retryAfter !== undefined && { 'retry-after': String(facts.retryAfter) }),
    },
    body,
  }
}
