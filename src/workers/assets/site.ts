import { InvalidInput, type Issue } from '../../core/errors.js'
import type { AssetConfig, HtmlHandling } from './config.js'
import { byDecodedPath, decodedPath, encodedFrom, type AssetFile, type AssetFiles } from './files.js'
import { parseHeaders, type HeaderRules } from './headers.js'
import { encodedPath, type Warning } from './lines.js'
import { NOT_FOUND, PAGES, type Page } from './pages.js'
import { parseRedirects, type Redirects } from './redirects.js'
import { firstRules, workerFirstIssues, type FirstRules } from './worker-first.js'

/** The parts of a request that decide which asset is the response. */
export interface AssetRequest {
  readonly method: string
  /** In lower case, without port. */
  readonly host: string
  /** Path and query as received. */
  readonly target: string
  /** The request opens a page (`Sec-Fetch-Mode: navigate`). */
  readonly navigates: boolean
}

/** The fields of the last response with a whole file. The list never changes. */
export interface KnownHead {
  host: string
  fields: readonly string[] | undefined
}

/** The outcome for a request. */
export type AssetDecision =
  /** `path` is percent-encoded, for the rules of headers. */
  | {
      readonly kind: 'file'
      readonly file: AssetFile
      readonly status: 200 | 404
      readonly path: string
      /** Undefined if the decision is for one request only. */
      readonly head?: KnownHead
    }
  | { readonly kind: 'redirect'; readonly status: number; readonly location: string; readonly path: string }
  | { readonly kind: 'worker' }
  | { readonly kind: 'missing'; readonly path: string }
  | { readonly kind: 'method_not_allowed'; readonly path: string }

/** Dependencies and configuration of a site. */
export interface SiteParts {
  readonly files: AssetFiles
  readonly config: AssetConfig
  /** How addresses of HTML are written. Default: the way of the configuration. */
  readonly html?: HtmlHandling
  /** The Worker has code, which responds if no asset fits. */
  readonly worker: boolean
  readonly compatibilityDate?: string | undefined
  readonly compatibilityFlags?: readonly string[]
}

/** Returns errors in the configuration of assets that its schema cannot detect, with pointers below `at`. */
export function assetConfigIssues(config: AssetConfig, at: string): Issue[] {
  const { base_path: base, run_worker_first: first, serve_directly: direct } = config
  const issues: Issue[] = []
  if (typeof base === 'string' && (encodedPath(base) !== base.replace(/\/$/, '/') || /[?#*]|\/\//.test(base)))
    issues.push({ pointer: `${at}/base_path`, message: 'must be a path that begins with / and needs no escapes' })
  if (Array.isArray(first)) issues.push(...workerFirstIssues(first, `${at}/run_worker_first`))
  if (first !== undefined && direct !== undefined)
    issues.push({ pointer: `${at}/serve_directly`, message: 'cannot be used together with run_worker_first' })
  return issues
}

/** Returns the canonical form of `base_path`, which has no slash at its end and is '' for the root. */
export const canonicalBase = ({ base_path: base }: AssetConfig): string => (base ?? '').replace(/\/$/, '')

/** From this date on, what opens a page gets the asset for pages that are missing ahead of the Worker. */
const NAVIGATION_DATE = '2025-04-01'
const NAVIGATION_FLAG = 'assets_navigation_prefers_asset_serving'
const NAVIGATION_OFF = 'assets_navigation_has_no_effect'

/** The static assets of a Worker. Decides which file is the response to a request, if any. */
export class AssetSite {
  readonly warnings: readonly Warning[]
  readonly #files: AssetFiles
  readonly #config: AssetConfig
  readonly #html: HtmlHandling
  readonly #worker: boolean
  readonly #navigations: boolean
  readonly #redirects: Redirects
  readonly #headers: HeaderRules
  readonly #first: FirstRules | undefined
  /** Without a slash at its end; '' for the root. */
  readonly #base: string

  /** Throws InvalidInput where {@link assetConfigIssues} finds something. */
  constructor({ files, config, html, worker, compatibilityDate = '', compatibilityFlags = [] }: SiteParts) {
    const issues = assetConfigIssues(config, '')
    if (issues.length > 0) throw new InvalidInput(issues)
    this.#html = html ?? config.html_handling ?? 'auto-trailing-slash'
    // A folder is not listed.
    this.#files = html === undefined ? byDecodedPath(files) : files
    this.#config = config
    this.#worker = worker
    this.#redirects = parseRedirects(config._redirects ?? '', this.#html)
    this.#headers = parseHeaders(config._headers ?? '')
    this.warnings = [...this.#redirects.warnings, ...this.#headers.warnings]
    this.#first = Array.isArray(config.run_worker_first) ? firstRules(config.run_worker_first) : undefined
    this.#base = canonicalBase(config)
    const dated = compatibilityDate >= NAVIGATION_DATE && !compatibilityFlags.includes(NAVIGATION_OFF)
    this.#navigations =
      (dated || compatibilityFlags.includes(NAVIGATION_FLAG)) && (config.not_found_handling ?? 'none') !== 'none'
  }

  decide(request: AssetRequest): AssetDecision {
    const { path, query } = split(request.target)
    const asset = (): AssetDecision => this.#asset(request, path, query)
    if (!this.#worker) return asset()
    const { run_worker_first: first, serve_directly: direct } = this.#config
    const says = this.#first?.(path)
    if (says === 'assets') return asset()
    if (says === 'worker' || first === true || direct === false) return { kind: 'worker' }
    const found = this.#redirects.find(path) ?? this.#page(path)
    if (found) return asset()
    // With rules, a path that no rule names belongs to the assets, and so does the page for missing files.
    const prefersPage = this.#first !== undefined || (this.#navigations && request.navigates)
    return prefersPage && this.#notFound(path) ? asset() : { kind: 'worker' }
  }

  /**
   * Returns the header fields of a response after the rules of `_headers`. Returns the same list if no rule applies.
   */
  headers(host: string, path: string, fields: readonly string[]): readonly string[] {
    return this.#headers.apply(host, path, fields)
  }

  #asset({ method }: AssetRequest, path: string, query: string): AssetDecision {
    const redirect = this.#redirects.find(path)
    if (redirect && redirect.status !== 200)
      return { kind: 'redirect', status: redirect.status, location: withQuery(redirect.to, query), path }
    const wanted = redirect ? split(redirect.to).path : path
    const page = this.#page(wanted) ?? this.#notFound(wanted)
    if (!page) return { kind: 'missing', path }
    if (method !== 'GET' && method !== 'HEAD') return { kind: 'method_not_allowed', path }
    // One address per page. A request with escapes that are not needed, or without escapes that are, is redirected to
    // it.
    const place = page.kind === 'moved' ? page.to : decodedPath(this.#below(wanted) ?? wanted)
    const usual = this.#base + encodedFrom(place)
    if (page.kind === 'moved' || (!redirect && this.#html !== 'exact' && usual !== wanted))
      return { kind: 'redirect', status: 307, location: usual + query, path }
    return { kind: 'file', file: page.file, status: page.status, path }
  }

  #page(path: string): Page | undefined {
    const below = this.#below(path)
    return below === undefined ? undefined : PAGES[this.#html](this.#files, decodedPath(below))
  }

  #notFound(path: string): Page | undefined {
    const below = this.#below(path)
    return below === undefined
      ? undefined
      : NOT_FOUND[this.#config.not_found_handling ?? 'none'](this.#files, decodedPath(below))
  }

  /** Returns a path without the base path, or undefined if the path is not below the base path. */
  #below(path: string): string | undefined {
    if (this.#base === '') return path
    if (path === this.#base) return '/'
    return path.startsWith(`${this.#base}/`) ? path.slice(this.#base.length) : undefined
  }
}

// Characters that a browser sends without an escape.
const PLAIN = /^(?:\/(?!\.{1,2}(?:\/|$))[\w!$&'()*+,;=:@~.%-]*)+$/

/** Path (in the form of a URL) and query (with its question mark) of a target. */
function split(target: string): { path: string; query: string } {
  const at = target.indexOf('?')
  const path = at < 0 ? target : target.slice(0, at)
  const query = at < 0 ? '' : target.slice(at)
  if (PLAIN.test(path) && !path.includes('%2')) return { path, query }
  return { path: encodedPath(path.replace(/^\/{2,}/, '/')) ?? path, query }
}

/** Returns a destination with the query of the request, unless it already has a query. */
function withQuery(to: string, query: string): string {
  const hash = to.indexOf('#')
  const bare = hash < 0 ? to : to.slice(0, hash)
  return bare.includes('?') || query === '' ? to : bare + query + to.slice(bare.length)
}
