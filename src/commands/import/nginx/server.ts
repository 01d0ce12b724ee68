import {
  allOf,
  ALWAYS,
  anyOf,
  FIRST_PATH,
  matches,
  noneOf,
  PATH,
  type Condition,
  type PathCondition,
} from '../site/condition.js'
import { hostnameOf, zoneName } from '../site/addresses.js'
import { respond } from '../site/fixed-response.js'
import type { Auth, ImportedZone, PathEntry, Target } from '../site/model.js'
import { pathGlobs } from '../site/path-globs.js'
import type { Place, Report } from '../site/report.js'
import { RuleSheet } from '../site/rules.js'
import { authOf } from './access.js'
import { addCacheRules } from './cache.js'
import { deniedClients } from './conditions.js'
import { addContent, type Content, type ContentDeps } from './content.js'
import { addResponseFields, responseDirectives } from './headers.js'
import { addLimits, type limitZones } from './limits.js'
import { globsOf, Locations, type Location } from './locations.js'
import type { Directive } from './parse.js'
import { addRewrites, type PathChange } from './rewrites.js'
import { Scope } from './scope.js'
import type { Upstreams } from './upstreams.js'

/** What all servers of a configuration share. */
export interface HttpContext {
  readonly report: Report
  readonly upstreams: Upstreams
  readonly limits: ReturnType<typeof limitZones>
  readonly folder: string
}

/** A `listen`. */
export interface Listen {
  readonly address: string
  readonly port: number
  readonly secure: boolean
  readonly isDefault: boolean
  readonly place: Place
}

/** A `server`. */
export interface Server {
  readonly scope: Scope
  readonly place: Place
  readonly hostnames: readonly string[]
  readonly listens: readonly Listen[]
}

/** Reads names and addresses of a `server`. */
export function readServer(directive: Directive, http: Scope, report: Report): Server {
  const scope = new Scope(directive.block ?? [], http)
  const given = scope.own('server_name').flatMap(({ args, place }) => args.map((name) => ({ name, place })))
  const hostnames = given.flatMap(({ name, place }) => {
    if (name === '_' || name === '' || name === '$hostname') return []
    const dotted = name.startsWith('.') ? [name.slice(1), `*${name}`] : [name]
    const found = dotted.map(hostnameOf)
    if (!found.includes(undefined)) return found as string[]
    report.add(place, `server_name ${name}`, 'edged has exact names and wildcards in front, as in *.example.com')
    return []
  })
  const listens = scope.own('listen').map(readListen)
  const byDefault: Listen = { address: '*', port: 80, secure: false, isDefault: false, place: directive.place }
  return {
    scope,
    place: directive.place,
    hostnames: [...new Set(hostnames)],
    listens: listens.length > 0 ? listens : [byDefault],
  }
}

function readListen({ args, place }: Directive): Listen {
  const [first = '', ...options] = args
  const [, address = '*', port] = /^(?:(\[[^\]]+\]|[^:]+):)?(\d+)$/.exec(first) ?? [undefined, first, undefined]
  const secure = options.includes('ssl')
  return {
    address,
    port: Number(port ?? 80),
    secure,
    isDefault: options.some((option) => /^default(_server)?$/.test(option)),
    place,
  }
}

/** Returns the zone of a server. Undefined if no name leads to it. */
export function zoneOf(server: Server, hostnames: readonly string[], http: HttpContext): ImportedZone {
  const { report, upstreams } = http
  const { scope, place } = server
  const sheet = new RuleSheet(report)
  const locations = new Locations(scope, place, report)
  const name = zoneName(hostnames)
  const constants = new Map<string, string>()
  const deps: ContentDeps = { sheet, report, serverName: name, constants, upstreams, locations }
  const first = addRewrites(scope.directives, () => ALWAYS, deps, {
    passed: ALWAYS,
    type: scope.value('default_type') ?? 'text/plain',
  })
  const reachable = first.ended && first.changes.length === 0 ? [] : locations.ordered

  const parts = new Map<Location, LocationPart>()
  for (const location of reachable)
    parts.set(location, addLocation(location, locations.region(location), first.passed, { ...http, ...deps }))
  const rootPart = [...parts].find(([{ kind, path }]) => path === '/' && (kind === 'prefix' || kind === 'strong'))?.[1]
  const auth = rootPart?.auth ?? false
  const entryDeps = { zoneAuth: auth, sheet, report, locations, parts }
  const entries = [
    ...aliases(first.changes, entryDeps),
    ...reachable.flatMap((location) => entriesOf(location, parts.get(location)!, entryDeps)),
  ]
  addCacheRules(
    reachable.map((location) => ({
      scope: location.scope,
      region: locations.region(location),
      field: locations.fieldAfterChanges(location),
    })),
    deps,
  )
  addLimitsOfServer(scope, locations, parts, http, sheet)
  addFieldsOfServer(scope, locations, parts, deps)
  const caches = sheet.has('http_request_cache_settings')
  return {
    name,
    hostnames,
    comment: `${place.file}:${place.line}`,
    ...rootPart?.content.target,
    ...(auth !== false && { auth }),
    ...(isOn(scope, 'gzip', reachable) && { compress: true }),
    ...(!caches && { cache: 'off' as const }),
    ...paths(entries, rootPart, auth),
    ...(sheet.byPhase && { rules: sheet.byPhase }),
    named: sheet.named,
  }
}

const isOn = (server: Scope, name: string, locations: readonly Location[]): boolean =>
  server.value(name) === 'on' || locations.some(({ scope }) => scope.value(name) === 'on')

interface LocationPart {
  readonly content: Content
  readonly auth: Auth | false
  readonly changes: readonly PathChange[]
  /** Rules respond to all requests. */
  readonly ended: boolean
}

function addLocation(
  location: Location,
  region: PathCondition,
  passed: Condition,
  deps: ContentDeps & HttpContext,
): LocationPart {
  const { scope, kind, path, place } = location
  const { sheet, report } = deps
  const captures = kind === 'regex' ? { source: PATH, pattern: path } : undefined
  const type = scope.value('default_type') ?? 'text/plain'
  const start = { passed, type, ...(captures && { captures }) }
  const outcome = addRewrites(scope.directives, region, deps, start)
  const denied = deniedClients(scope.all('allow', 'deny'))
  if (denied && !outcome.ended) {
    const satisfied = scope.value('satisfy') === 'any' && (scope.one('auth_basic') ?? scope.one('auth_request'))
    if (satisfied)
      report.add(scope.one('satisfy')!.place, 'satisfy any', 'clients need an allowed address as well as a password')
    respond(
      sheet,
      allOf(region(PATH), denied),
      { status: 403 },
      (scope.all('deny').at(0) ?? { place }).place,
      'allow and deny',
    )
  }
  const auth = authOf(scope, deps)
  // Rules do not change the path of clients that are denied: the rule above would no longer know it.
  const allowed: PathCondition = denied ? (field) => allOf(region(field), { text: `not (${denied.text})` }) : region
  const ended = outcome.ended && outcome.changes.length === 0
  const content = ended ? {} : addContent(location, allowed, deps)
  return { content, auth, changes: outcome.changes, ended }
}

interface EntryDeps {
  readonly zoneAuth: Auth | false
  readonly sheet: RuleSheet
  readonly report: Report
  readonly locations: Locations
  readonly parts: ReadonlyMap<Location, LocationPart>
}

/** Returns the entries of `paths` for a location. */
function entriesOf(location: Location, { content, auth, changes, ended }: LocationPart, deps: EntryDeps): PathEntry[] {
  if (ended) return []
  const { zoneAuth, sheet, report, locations, parts } = deps
  const { kind, path, place } = location
  const comment = `${place.file}:${place.line}`
  const again = changes.find((change) => change.again)
  const target = again
    ? (parts.get(locations.find(again.to) ?? location)?.content.target ?? content.target)
    : content.target
  const own: Omit<PathEntry, 'path'> = {
    ...target,
    ...(content.strip !== undefined && !again && { strip_prefix: content.strip }),
    ...(!isSame(auth, zoneAuth) && { auth }),
    comment,
  }
  const [gzip] = location.scope.own('gzip')
  if (gzip) report.add(gzip.place, `gzip ${gzip.args[0] ?? ''}`, '`compress` is an option of the whole zone')
  const globs = globsOf(location)
  if (globs) return globs.map((glob) => ({ path: glob, ...own }))
  const what = `location ${kind === 'regex' ? '~ ' : ''}${path}`
  const isPlain = target !== undefined && isSame(auth, zoneAuth)
  if (isPlain && sheet.route(locations.region(location)(PATH), target, place, what)) return []
  if (target !== undefined || !isSame(auth, zoneAuth))
    report.add(place, what, '`paths` have no such pattern; its requests are served as those of /')
  return []
}

/** Returns entries for paths that a `rewrite` of the server leads to another location. */
function aliases(changes: readonly PathChange[], { locations, parts, sheet, report }: EntryDeps): PathEntry[] {
  const targets = new Set(
    [...parts.values()].map(({ content, auth }) => JSON.stringify([content.target, content.strip, auth])),
  )
  if (targets.size < 2) return []
  return changes.flatMap(({ pattern, to, place }): PathEntry[] => {
    const location = locations.find(to)
    const found = location && parts.get(location)
    const { target, strip } = found?.content ?? {}
    const globs = pathGlobs(pattern)
    if (found && globs) {
      const own = {
        ...target,
        ...(strip !== undefined && { strip_prefix: strip }),
        ...(found.auth !== false && { auth: found.auth }),
      }
      return globs.map((path) => ({ path, ...own }))
    }
    const isPlain = strip === undefined && found?.auth === false && target !== undefined
    if (!isPlain || !sheet.route(matches(pattern)(FIRST_PATH), target, place, `rewrite ${pattern}`))
      report.add(
        place,
        `rewrite ${pattern}`,
        'edged chooses the origin by the path of the client; add an entry of `paths` for it',
      )
    return []
  })
}

/** Removes entries that repeat the zone, at the end of the list. */
function paths(
  entries: readonly PathEntry[],
  root: LocationPart | undefined,
  auth: Auth | false,
): { paths?: readonly PathEntry[] } {
  const zone: Target = root?.content.target ?? {}
  const own = { ...zone, ...(auth !== false && { auth }) }
  const differs = (entry: PathEntry) => {
    const { path, comment } = entry
    return !isSame({ ...own, ...entry }, { ...own, path, ...(comment !== undefined && { comment }) })
  }
  const last = entries.findLastIndex(differs)
  // Entries of the root at the end add nothing.
  const kept = entries.slice(0, last + 1)
  return kept.length === 0 ? {} : { paths: kept }
}

const isSame = (a: unknown, b: unknown): boolean => JSON.stringify(sorted(a)) === JSON.stringify(sorted(b))

function sorted(value: unknown): unknown {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return value
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, each]) => [key, sorted(each)]),
  )
}

/** Adds limits once for the server, and for each location with limits of its own. */
function addLimitsOfServer(
  scope: Scope,
  locations: Locations,
  parts: ReadonlyMap<Location, LocationPart>,
  http: HttpContext,
  sheet: RuleSheet,
): void {
  const { limits, report } = http
  // A path that a client writes in another way must not pass a limit.
  const region = (location: Location) =>
    anyOf(locations.region(location)(PATH), locations.region(location)(locations.fieldAfterChanges(location)))
  const reachable = [...parts.keys()]
  const own = reachable.filter((location) => location.scope.own('limit_req').length > 0)
  for (const location of own) addLimits(location.scope, region(location), limits, sheet, report)
  const others = reachable.filter((location) => !own.includes(location))
  if (others.length > 0 || reachable.length === 0)
    addLimits(scope, own.length === 0 ? ALWAYS : anyOf(...others.map(region)), limits, sheet, report)
}

/** Adds the rules for fields of responses, once for all locations that have the same ones. */
function addFieldsOfServer(
  scope: Scope,
  locations: Locations,
  parts: ReadonlyMap<Location, LocationPart>,
  deps: ContentDeps,
): void {
  const groups = new Map<string, { scope: Scope; regions: Condition[] }>()
  for (const location of parts.keys()) {
    const key = responseDirectives(location.scope)
      .map(({ place, args }) => [place.file, place.line, ...args].join(' '))
      .join('\n')
    const group = groups.get(key) ?? { scope: location.scope, regions: [] }
    group.regions.push(locations.region(location)(locations.fieldAfterChanges(location)))
    groups.set(key, group)
  }
  if (parts.size === 0) addResponseFields(scope, ALWAYS, deps)
  const largest = [...groups.values()].toSorted((a, b) => b.regions.length - a.regions.length)[0]
  for (const group of groups.values()) {
    // Each request has one location: the largest group has the requests of no other one.
    const others = [...groups.values()].filter((other) => other !== group).flatMap(({ regions }) => regions)
    addResponseFields(group.scope, group === largest ? noneOf(anyOf(...others)) : anyOf(...group.regions), deps)
  }
}
