import { Type, type Static } from 'typebox'
import { strict } from '../core/schema.js'
import { toBytes } from '../expr/index.js'
import type { FoundRedirect } from './list-type.js'

const MAX_CHUNK_BYTES = 32_768

const flag = (description: string) => Type.Optional(Type.Boolean({ description }))

export const Redirect = Type.Object(
  {
    source_url: Type.String({
      minLength: 1,
      maxLength: MAX_CHUNK_BYTES,
      description: 'Host and path, with or without a scheme in front; no query.',
      examples: ['example.com/old'],
    }),
    target_url: Type.String({ minLength: 1, maxLength: MAX_CHUNK_BYTES, description: 'An http or https URL.' }),
    status_code: Type.Optional(Type.Enum([301, 302, 307, 308], { description: 'Default: 301.' })),
    include_subdomains: flag('Names below the host match too. Default: false.'),
    subpath_matching: flag('Paths below the path match too. Default: false.'),
    preserve_query_string: flag('The query of the request is added to the target. Default: false.'),
    preserve_path_suffix: flag('Adds the rest of the path after the source path to the target. Default: true.'),
  },
  strict,
)
export type Redirect = Static<typeof Redirect>

/** A parsed source; `host` in lower case, with a port only if it is not the scheme's default. */
export interface Source {
  readonly scheme: Scheme | undefined
  readonly host: string
  /** Begins with a slash. */
  readonly path: string
}

type Scheme = 'http' | 'https'

/** Parses a `source_url`. Returns its parts, or the error as a text. */
export function sourceOf(text: string): Source | string {
  if (/[\s\p{Cc}]/u.test(text)) return 'must not contain spaces or control characters'
  const [, scheme, rest = ''] = /^(?:([a-z][a-z0-9+.-]*):\/\/)?(.*)$/is.exec(text) ?? []
  const named = scheme?.toLowerCase()
  if (named !== undefined && named !== 'http' && named !== 'https')
    return 'must begin with http:// or https://, or a host'
  if (/[?#]/.test(rest)) return 'must not have a query or a fragment'
  if (rest.includes('*')) return 'has no wildcards: include_subdomains and subpath_matching say what matches'
  if (rest.startsWith('/')) return 'has no host'
  if (!URL.canParse(`${named ?? 'http'}://${rest}`)) return 'is not a valid URL'
  const { host, pathname, username, password } = new URL(`${named ?? 'http'}://${rest}`)
  if (username !== '' || password !== '') return 'must not have a user name'
  return { scheme: named, host, path: pathname }
}

/** A redirect with its parsed target, as byte strings like the URLs that are looked up. */
interface Prepared {
  readonly redirect: Redirect
  /** The target up to its query. */
  readonly base: string
  readonly query: string
  readonly fragment: string
}

/** The redirects of one source, by its scheme. */
type Slot = Map<Scheme | undefined, Prepared>

/**
 * Redirects by host and path. Finds the most specific match of a URL. The longest path comes first, then the exact host
 * before a parent domain, then the longer parent, then a named scheme before none. A URL is looked up once for each of
 * its parent paths and domains that can be in the table.
 */
export class RedirectTable {
  readonly #hosts = new Map<string, Map<string, Slot>>()

  /** Adds a redirect with a valid source. Replaces one with the same source. */
  add(redirect: Redirect): void {
    const { scheme, host, path } = partsOf(redirect)
    let paths = this.#hosts.get(host)
    if (!paths) this.#hosts.set(host, (paths = new Map()))
    let slot = paths.get(path)
    if (!slot) paths.set(path, (slot = new Map()))
    slot.set(scheme, prepared(redirect))
  }

  /** Removes a redirect. Does nothing if no redirect has its source. */
  remove(redirect: Redirect): void {
    const { scheme, host, path } = partsOf(redirect)
    const paths = this.#hosts.get(host)
    const slot = paths?.get(path)
    if (!paths || !slot?.delete(scheme)) return
    if (slot.size === 0) paths.delete(path)
    if (paths.size === 0) this.#hosts.delete(host)
  }

  /** Returns the redirect for a URL, which is absolute or a host and path without a scheme. */
  find(url: string): FoundRedirect | undefined {
    const { scheme, host, path, query } = split(url)
    const own = this.#hosts.get(host)
    const parents = this.#parents(host)
    if (!own && parents.length === 0) return undefined
    for (const prefix of prefixes(path)) {
      const below = prefix.length < path.length
      const found =
        pick(own?.get(prefix), scheme, below, false) ??
        first(parents, (paths) => pick(paths.get(prefix), scheme, below, true))
      if (found) return { location: target(found, path.slice(prefix.length), query), status: statusOf(found) }
    }
    return undefined
  }

  /** Returns the tables of the domains above a host, the longest first. */
  #parents(host: string): Map<string, Slot>[] {
    const tables: Map<string, Slot>[] = []
    if (host.length > MAX_HOST_LENGTH) return tables
    for (let dot = host.indexOf('.'); dot !== -1; dot = host.indexOf('.', dot + 1)) {
      const table = this.#hosts.get(host.slice(dot + 1))
      if (table) tables.push(table)
    }
    return tables
  }
}

/** A name of 253 characters, and a port. */
const MAX_HOST_LENGTH = 260
/** Maximum number of slashes in a path that also matches the paths below it. */
const MAX_SLASHES = 16

function partsOf({ source_url }: Redirect): Source {
  const source = sourceOf(source_url)
  if (typeof source === 'string') throw new TypeError(`${source_url} ${source}`)
  return source
}

function prepared(redirect: Redirect): Prepared {
  const [, base = '', query = '', fragment = ''] =
    /^([^?#]*)(\?[^#]*)?(#.*)?$/s.exec(toBytes(redirect.target_url)) ?? []
  return { redirect, base, query, fragment }
}

/** Returns the parts of a request's URL, which may be any text. */
function split(url: string): { scheme: string; host: string; path: string; query: string } {
  const colon = url.indexOf('://')
  const slashBefore = colon === -1 ? false : url.lastIndexOf('/', colon - 1) !== -1
  const named = colon !== -1 && !slashBefore
  const scheme = named ? url.slice(0, colon).toLowerCase() : ''
  const start = named ? colon + 3 : 0
  const mark = url.indexOf('?', start)
  const hash = url.indexOf('#', start)
  const end = hash !== -1 && (mark === -1 || hash < mark) ? hash : mark === -1 ? url.length : mark
  const slash = url.indexOf('/', start)
  const hostEnd = slash === -1 || slash > end ? end : slash
  const queryEnd = hash === -1 ? url.length : hash
  return {
    scheme,
    host: hostOf(url.slice(start, hostEnd), scheme),
    path: hostEnd === end ? '/' : url.slice(hostEnd, end),
    query: mark === -1 || mark > queryEnd ? '' : url.slice(mark + 1, queryEnd),
  }
}

function hostOf(text: string, scheme: string): string {
  const host = text.toLowerCase()
  const usual = scheme === 'https' ? ':443' : ':80'
  return host.endsWith(usual) ? host.slice(0, -usual.length) : host
}

/** Returns the path and its parent paths, longest first, each with and without its last slash. */
function* prefixes(path: string): Generator<string> {
  yield path
  const slashes: number[] = []
  for (let at = path.indexOf('/'); at !== -1 && slashes.length <= MAX_SLASHES; at = path.indexOf('/', at + 1))
    slashes.push(at)
  for (let at = slashes.pop(); at !== undefined; at = slashes.pop()) {
    if (at + 1 < path.length) yield path.slice(0, at + 1)
    if (at > 0) yield path.slice(0, at)
  }
}

/**
 * Returns the redirect of a source for the URL, a named scheme first. With `below` or `parent`, only if the redirect
 * includes these.
 */
function pick(slot: Slot | undefined, scheme: string, below: boolean, parent: boolean): Prepared | undefined {
  if (!slot) return undefined
  const reaches = (found: Prepared | undefined) =>
    found &&
    (!below || found.redirect.subpath_matching === true) &&
    (!parent || found.redirect.include_subdomains === true)
      ? found
      : undefined
  return reaches(slot.get(scheme as Scheme)) ?? reaches(slot.get(undefined))
}

function first<T, R>(items: readonly T[], of: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = of(item)
    if (found !== undefined) return found
  }
  return undefined
}

const DEFAULT_STATUS = 301
const statusOf = ({ redirect }: Prepared): number => redirect.status_code ?? DEFAULT_STATUS

/**
 * Returns the target with the preserved parts of the URL. A preserved query follows the target's own, joined by `&`.
 */
function target({ redirect, base, query, fragment }: Prepared, suffix: string, asked: string): string {
  const keepsSuffix = suffix !== '' && (redirect.preserve_path_suffix ?? true)
  const path = keepsSuffix ? `${base.replace(/\/$/, '')}/${suffix.replace(/^\//, '')}` : base
  if (!redirect.preserve_query_string || asked === '') return path + query + fragment
  return `${path}${query === '' ? '?' : query.length === 1 ? query : `${query}&`}${asked}${fragment}`
}
