/** A phase that rules belong to, with the actions that its rules can have. The first action is the default. */
export interface PhaseRow {
  readonly name: string
  readonly title: string
  /** One of them, as in `New custom rule`. */
  readonly one: string
  readonly levels: readonly ('zone' | 'account')[]
  readonly actions: readonly string[]
  /** Sentence for a phase without rules. */
  readonly about: string
}

const FIREWALL = [
  'block',
  'managed_challenge',
  'js_challenge',
  'challenge',
  'log',
  'skip',
  'force_connection_close',
  'score',
]
const ZONE = ['zone'] as const
const BOTH = ['zone', 'account'] as const

const row = (
  name: string,
  title: string,
  one: string,
  levels: PhaseRow['levels'],
  actions: readonly string[],
  about: string,
): PhaseRow => ({ name, title, one, levels, actions, about })

/** Phases with a tab of their own, the ones that people use most first. */
// prettier-ignore
export const PHASES: readonly PhaseRow[] = [
  row('http_request_firewall_custom', 'Custom', 'custom rule', BOTH, [...FIREWALL, 'rewrite', 'transform_response_html', 'execute'], 'Custom rules block, challenge, log or skip requests.'),
  row('http_ratelimit', 'Rate limits', 'rate limit', BOTH, ['block', 'managed_challenge', 'js_challenge', 'challenge', 'log', 'execute'], 'Rate limits act on clients that send too many requests.'),
  row('http_request_dynamic_redirect', 'Redirects', 'redirect', ZONE, ['redirect'], 'Redirects send clients to another address.'),
  row('http_request_redirect', 'Bulk redirects', 'bulk redirect', ['account'], ['redirect'], 'Bulk redirects send clients to the addresses of a list.'),
  row('http_request_transform', 'Rewrites', 'URL rewrite', ZONE, ['rewrite'], 'URL rewrites change the path or the query before the origin gets them.'),
  row('http_config_settings', 'Config', 'configuration rule', ZONE, ['set_config'], 'Configuration rules change settings for some requests.'),
  row('http_request_origin', 'Origin', 'origin rule', ZONE, ['route'], 'Origin rules choose the origin for some requests.'),
  row('http_request_cache_settings', 'Cache', 'cache rule', ZONE, ['set_cache_settings'], 'Cache rules say what is cached, and for how long.'),
  row('http_request_late_transform', 'Request fields', 'rule for request fields', ZONE, ['rewrite'], 'These rules change header fields before the origin gets them.'),
  row('http_response_headers_transform', 'Response fields', 'rule for response fields', ZONE, ['rewrite'], 'These rules change header fields before the client gets them.'),
  row('http_response_cache_settings', 'Cache of responses', 'cache rule for responses', ZONE, ['set_cache_settings', 'set_cache_control', 'set_cache_tags'], 'These rules change how a response is cached, when it has arrived.'),
  row('http_custom_errors', 'Errors', 'error page', BOTH, ['serve_error'], 'These rules replace the body of error responses.'),
  row('http_response_compression', 'Compression', 'compression rule', ZONE, ['compress_response'], 'Compression rules choose how responses are compressed.'),
  row('http_log_custom_fields', 'Log fields', 'log fields rule', ZONE, ['log_custom_field'], 'These rules add header fields and cookies to log records.'),
  row('http_request_firewall_managed', 'Managed', 'managed rule', BOTH, ['execute', ...FIREWALL], 'These rules run managed rulesets.'),
  row('http_response_firewall_managed', 'Sensitive data', 'rule for responses', BOTH, ['execute', 'log', 'skip', 'score'], 'These rules run managed rulesets on responses.'),
]

export const phaseNamed = (name: string): PhaseRow =>
  PHASES.find((phase) => phase.name === name) ?? row(name, name, 'rule', BOTH, [], 'Rules of this phase.')

/** Actions in words. */
const ACTIONS: Readonly<Record<string, string>> = {
  block: 'Block',
  managed_challenge: 'Challenge',
  js_challenge: 'Challenge by script',
  challenge: 'Interactive challenge',
  log: 'Log',
  skip: 'Skip',
  score: 'Add to the score',
  rewrite: 'Rewrite',
  force_connection_close: 'Close the connection',
  transform_response_html: 'Maze of links',
  execute: 'Run a ruleset',
  redirect: 'Redirect',
  set_config: 'Change settings',
  route: 'Choose the origin',
  set_cache_settings: 'Cache settings',
  set_cache_control: 'Set Cache-Control',
  set_cache_tags: 'Set cache tags',
  serve_error: 'Serve an error page',
  compress_response: 'Compress',
  log_custom_field: 'Log fields',
}

export const actionName = (action: string): string => ACTIONS[action] ?? action
