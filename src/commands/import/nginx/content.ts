import { existsSync } from 'node:fs'
import { basename, dirname, isAbsolute, resolve } from 'node:path'
import { allOf, isPath, noneOf, part, PATH, patternLiteral, type PathCondition } from '../site/condition.js'
import { respond } from '../site/fixed-response.js'
import type { Target } from '../site/model.js'
import type { Location, Locations } from './locations.js'
import type { ServerContext } from './rewrites.js'
import { addRequestFields } from './headers.js'
import type { Directive } from './parse.js'
import type { Upstreams } from './upstreams.js'

/** Where the requests of a location go. */
export interface Content {
  readonly target?: Target
  readonly strip?: string
  readonly proxied?: boolean
}

/** Directives that hand requests to other protocols. */
const OTHER_PROTOCOLS = ['fastcgi_pass', 'uwsgi_pass', 'scgi_pass', 'grpc_pass', 'memcached_pass']
/** Folder of relative paths in the package of Debian and the official image. */
const PREFIX = '/usr/share/nginx'

export interface ContentDeps extends ServerContext {
  readonly upstreams: Upstreams
  readonly locations: Locations
}

/** Adds the rules of what serves a location, and returns its target. `passed` is part of the region. */
export function addContent(location: Location, region: PathCondition, deps: ContentDeps): Content {
  const { scope } = location
  const { report, sheet } = deps
  if (scope.own('internal').length > 0) {
    respond(sheet, region(PATH), { status: 404 }, location.place, 'internal')
    return {}
  }
  const other = OTHER_PROTOCOLS.flatMap((name) => scope.own(name))[0]
  if (other) {
    const what = `${other.name} ${other.args[0] ?? ''}`
    report.add(
      other.place,
      what,
      'edged speaks HTTP to origins; its requests get 403, so that no source of a script is served',
    )
    respond(sheet, region(PATH), { status: 403 }, other.place, what)
    return {}
  }
  const tried = scope.one('try_files')
  const pass = scope.own('proxy_pass')[0]
  if (tried && !pass) return triedFiles(tried, location, region, deps)
  if (pass) return proxied(pass, location, region, deps)
  if (scope.own('return').length > 0) return {}
  return folder(location, deps)
}

function proxied(pass: Directive, location: Location, region: PathCondition, deps: ContentDeps): Content {
  const [url = ''] = pass.args
  const what = `proxy_pass ${url}`
  const found = deps.upstreams.proxied(substituted(url, deps.constants), pass.place, what)
  if (!found) return {}
  const { target, uri, authority, scheme } = found
  const change = uri === undefined ? {} : changeOfPath(location, uri, region, deps, pass, what)
  const late = region(deps.locations.fieldAfterChanges(location))
  addRequestFields(location.scope, late, deps, authority, pass.place)
  if (scheme === 'https' && location.scope.value('proxy_ssl_verify') !== 'on')
    deps.sheet.add(
      'http_config_settings',
      { when: late, action: 'set_config', action_parameters: { ssl: 'full' } },
      pass.place,
      `${what}: the certificate of the origin is not checked`,
    )
  if (location.kind === 'prefix' && location.path.endsWith('/') && location.path !== '/') addSlash(location, deps, pass)
  return { target, proxied: true, ...change }
}

const substituted = (url: string, constants: ReadonlyMap<string, string>): string =>
  url.replaceAll(/\$\{?(\w+)\}?/g, (variable, name: string) => constants.get(name) ?? variable)

/** nginx redirects the path of a proxied location without its slash. */
function addSlash({ path, place }: Location, { sheet, locations }: ContentDeps, pass: Directive): void {
  const bare = path.slice(0, -1)
  if (locations.all.some((other) => other.kind === 'exact' && other.path === bare)) return
  sheet.add(
    'http_request_dynamic_redirect',
    {
      when: isPath(bare)(PATH),
      action: 'redirect',
      action_parameters: { from_value: { target_url: { value: path }, status_code: 301, preserve_query_string: true } },
    },
    place,
    `location ${path} with ${pass.name}`,
  )
}

/** Returns how the part of the path that the location matched becomes the path of the URL. */
function changeOfPath(
  location: Location,
  uri: string,
  region: PathCondition,
  { sheet, report }: ContentDeps,
  pass: Directive,
  what: string,
): Partial<Content> {
  const { kind, path } = location
  if (kind === 'regex' || kind === 'named') {
    report.add(pass.place, what, 'a URL with a path needs a location with a path')
    return {}
  }
  if (path === uri) return {}
  if (kind !== 'exact' && path.endsWith('/') && uri === '/') return { strip: path.slice(0, -1) }
  const [base = '', query] = uri.split('?', 2)
  const pattern = `^${path.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)}`
  const newPath =
    kind === 'exact'
      ? { value: base }
      : {
          expression: `regex_replace(${PATH}, ${patternLiteral(pattern)}, ${JSON.stringify(base.replaceAll('$', '$$$$'))})`,
        }
  sheet.add(
    'http_request_transform',
    {
      when: region(PATH),
      action: 'rewrite',
      action_parameters: { uri: { path: newPath, ...(query !== undefined && { query: { value: query } }) } },
    },
    pass.place,
    what,
  )
  return {}
}

/** Returns the folder of a location. */
function folder(location: Location, { sheet, report }: ContentDeps, html: 'exact' | undefined = 'exact'): Content {
  const { scope, path, kind } = location
  const index = scope.one('index')
  if (index && !index.args.includes('index.html'))
    report.add(index.place, `index ${index.args.join(' ')}`, 'edged serves index.html for a folder')
  const alias = scope.own('alias')[0]
  const root = scope.one('root')
  const [given = ''] = alias?.args ?? root?.args ?? ['html']
  const rootOf = (text: string) => {
    const whole = absolute(text).replace(/(?<=.)\/+$/, '')
    return { root: html === undefined ? whole : { folder: whole, html } }
  }
  if (given.includes('$')) {
    report.add((alias ?? root)!.place, `${alias ? 'alias' : 'root'} ${given}`, 'the folder depends on the request')
    return {}
  }
  if (!alias) return { target: rootOf(given) }
  if (kind === 'regex') {
    report.add(alias.place, `alias ${given}`, 'alias in a location with a pattern; use `root` of a path')
    return {}
  }
  if (kind !== 'exact') return { target: rootOf(given), ...(path !== '/' && { strip: path.replace(/\/$/, '') }) }
  sheet.add(
    'http_request_transform',
    {
      when: isPath(path)(PATH),
      action: 'rewrite',
      action_parameters: { uri: { path: { value: `/${basename(given)}` } } },
    },
    alias.place,
    `alias ${given}`,
  )
  return { target: rootOf(dirname(given)) }
}

const absolute = (path: string): string => (isAbsolute(path) ? path : resolve(PREFIX, path))

/** Reads `try_files`. Files come first in nginx: edged chooses an origin or a folder by the path alone. */
function triedFiles(tried: Directive, location: Location, region: PathCondition, deps: ContentDeps): Content {
  const { report, sheet, locations } = deps
  const candidates = tried.args.slice(0, -1)
  const last = tried.args.at(-1) ?? ''
  const what = `try_files ${tried.args.join(' ')}`
  const unusual = candidates.find((candidate) => !['$uri', '$uri/', '$uri.html', '$uri/index.html'].includes(candidate))
  if (unusual !== undefined) report.add(tried.place, what, `${unusual} is not looked for`)
  const named = last.startsWith('@') ? locations.named(last) : undefined
  if (named) {
    const pass = named.scope.own('proxy_pass')[0]
    if (pass) {
      report.add(
        tried.place,
        what,
        'all requests go to the origin; name folders of files in `paths`, as in { path: "/static/*", root: FOLDER }',
      )
      return proxied(pass, named, region, deps)
    }
    report.add(named.place, `location ${last}`, 'it is not a proxied location')
  }
  const clean = candidates.includes('$uri.html')
  if (clean) report.add(tried.place, what, 'addresses that end in .html are redirected to those without')
  const content = folder(location, deps, clean ? undefined : 'exact')
  const [page = ''] = last.split('?', 1)
  if (/^\/[\w./-]+\.html?$/.test(page)) {
    if (fallbackExists(content, page))
      report.add(
        tried.place,
        what,
        `paths without a dot in their last part get ${page}; missing files with one get 404`,
      )
    sheet.add(
      'http_request_transform',
      {
        when: allOf(region(PATH), noneOf(part(`${PATH} matches ${patternLiteral(String.raw`(\.[^/]*|^/)$`)}`))),
        action: 'rewrite',
        action_parameters: { uri: { path: { value: page === '/index.html' ? '/' : page } } },
      },
      tried.place,
      what,
    )
  } else if (!/^(=404|\$uri\/?)$/.test(last) && !named)
    report.add(tried.place, what, `${last} is not served for missing files; they get 404`)
  return content
}

/** A fallback that is certainly missing changes nothing. */
function fallbackExists({ target }: Content, page: string): boolean {
  const root = target?.root
  const path = typeof root === 'string' ? root : root?.folder
  return path === undefined || !existsSync(path) || existsSync(`${path}${page}`)
}
