import { resolve } from 'node:path'
import {
  allOf,
  ALWAYS,
  anyOf,
  NEVER,
  noneOf,
  part,
  PATH,
  patternLiteral,
  escapePattern,
  literal,
  type Condition,
} from '../site/condition.js'
import { respond } from '../site/fixed-response.js'
import { contains, entriesFrom, type Layer } from '../site/layers.js'
import type { Auth, ImportedZone, PathEntry, Target } from '../site/model.js'
import type { Report } from '../site/report.js'
import { RuleSheet } from '../site/rules.js'
import { textOnly, textsOf, type Alternative } from '../site/template.js'
import { basicAuth, forwardAuth } from './access.js'
import { addField } from './fields.js'
import { EVERY, matcherOf, pathMatcher, type Matcher } from './matchers.js'
import { inOrder } from './order.js'
import type { Segment } from './parse.js'
import { partsOf, type Patterns } from './placeholders.js'
import { proxied } from './proxy.js'
import { Region } from './region.js'

/** The parts of one zone. */
export interface SiteContext {
  readonly report: Report
  readonly environment: Readonly<Record<string, string | undefined>>
  /** The host of the zone, if the site has others beside it. */
  readonly host: string | undefined
  readonly apart: ReadonlySet<string>
  /** Folder of the Caddyfile, to which paths are relative. */
  readonly folder: string
}

/** Directives of a site that are read elsewhere. */
const ELSEWHERE = new Set(['tls', 'log', 'bind'])
/** Directives that a matcher cannot come before. */
const NO_MATCHER = new Set(['try_files', 'log', 'tls', 'bind', 'handle_errors', 'map', 'import'])

type Options = Omit<PathEntry, 'path'>

/** Compiles the directives of a site to one zone. */
export class SiteCompiler {
  readonly sheet: RuleSheet
  compress = false
  readonly #context: SiteContext
  readonly #content: Layer<Options>[] = []
  readonly #auth: Layer<Options>[] = []
  readonly #strips: Layer<Options>[] = []
  readonly #roots: Layer<string>[] = []
  /** Requests whose origin a rule names. */
  readonly #routed: Condition[] = []
  readonly #moved: { readonly globs: readonly string[]; readonly to: string }[] = []

  constructor(context: SiteContext) {
    this.#context = context
    this.sheet = new RuleSheet(context.report)
  }

  /** Returns the zone without its names. */
  compile(block: readonly Segment[]): Omit<ImportedZone, 'name' | 'hostnames'> {
    this.#block(block, new Region(), new Map(), new Map(), true)
    this.#followRewrites()
    const entries = entriesFrom([this.#content, this.#auth, this.#strips])
    const everything = entries.find(({ path }) => path === '*')
    const { path: _, auth, strip_prefix: stripped, ...target } = everything ?? { path: '*' }
    const paths = distinct(
      entries,
      { ...target, ...(auth !== undefined && auth !== false && { auth }) },
      stripped !== undefined,
    )
    const rules = this.sheet.byPhase
    return {
      ...target,
      ...(auth !== undefined && auth !== false && { auth }),
      ...(this.compress && { compress: true }),
      cache: 'off',
      ...(paths.length > 0 && { paths }),
      ...(rules && { rules }),
      named: this.sheet.named,
    }
  }

  #block(
    segments: readonly Segment[],
    region: Region,
    outer: ReadonlyMap<string, Segment>,
    patterns: Patterns,
    sorts: boolean,
  ): void {
    const matchers = new Map([
      ...outer,
      ...segments.filter(({ name }) => name.startsWith('@')).map((each) => [each.name, each] as const),
    ])
    const directives = segments.filter(({ name }) => !name.startsWith('@') && !ELSEWHERE.has(name))
    const ordered = sorts ? inOrder(directives, (segment) => matcherToken(segment)) : directives
    let current = region
    let handles = region
    let rewrites = region
    for (const segment of ordered) {
      const { token, args } = split(segment)
      const found = this.#matcher(token, matchers, current)
      if (typeof found === 'string') {
        this.#unsupported(segment, found, current, args)
        continue
      }
      const own = new Map([...patterns, ...(found.captures ?? [])])
      if (segment.name === 'handle' || segment.name === 'handle_path') {
        this.#handle(segment, found, handles, matchers, own, args)
        handles = handles.without(found)
        continue
      }
      if (changesPath(segment)) {
        // Only the first `rewrite` that matches acts.
        const inner = segment.name === 'rewrite' ? rewrites.within(found) : current.within(found)
        if (segment.name === 'rewrite') rewrites = rewrites.without(found)
        this.#rewrite(segment, args, inner, own)
        current = current.afterRewrite()
        handles = handles.afterRewrite()
        continue
      }
      this.#directive(segment, args, found, current.within(found), matchers, own)
    }
  }

  #matcher(token: string | undefined, matchers: ReadonlyMap<string, Segment>, region: Region): Matcher | string {
    const context = { prefix: region.prefix, host: this.#context.host, apart: this.#context.apart }
    if (token === undefined || token === '*') return EVERY
    if (token.startsWith('/')) return pathMatcher([token], context)
    const definition = matchers.get(token)
    const found = definition ? matcherOf(definition, context) : `${token}, which is not defined`
    if (typeof found === 'string' || found.files || found.when(PATH) !== ALWAYS) return found
    return { ...found, ...EVERY }
  }

  /** Reports a directive whose matcher rules do not have. Protection applies to all requests then. */
  #unsupported(segment: Segment, matcher: string, region: Region, args: readonly string[]): void {
    const { name, place } = segment
    const protects = ['basicauth', 'basic_auth', 'forward_auth'].includes(name)
    this.#context.report.add(
      place,
      `${name} with the matcher ${matcher}`,
      protects ? 'rules have no such matcher; it protects all requests here' : 'rules have no such matcher',
    )
    if (protects) this.#directive(segment, args, EVERY, region, new Map(), new Map())
  }

  #handle(
    segment: Segment,
    matcher: Matcher,
    region: Region,
    matchers: ReadonlyMap<string, Segment>,
    patterns: Patterns,
    args: readonly string[],
  ): void {
    const { name, block = [], place } = segment
    void args
    if (matcher.files)
      return this.#context.report.add(place, name, 'edged does not look for files before it chooses a target')
    if (isNever(matcher)) return
    if (name === 'handle') return this.#block(block, region.within(matcher), matchers, patterns, true)
    const token = matcherToken(segment) ?? ''
    const prefix = token.replace(/\*$/, '').replace(/\/$/, '')
    const inner = region.within(matcher, region.prefix + prefix)
    if (prefix !== '')
      for (const glob of inner.globs)
        this.#strips.push({ glob, except: inner.except, value: { strip_prefix: region.prefix + prefix } })
    this.#block(block, inner, matchers, patterns, true)
  }

  #directive(
    segment: Segment,
    args: readonly string[],
    matcher: Matcher,
    region: Region,
    matchers: ReadonlyMap<string, Segment>,
    patterns: Patterns,
  ): void {
    const { name, block = [], place } = segment
    const { report } = this.#context
    const what = `${name} ${segment.args.join(' ')}`.trim()
    const out = (reason: string) => report.add(place, what, reason)
    if (isNever(matcher)) return
    if (matcher.files && name !== 'rewrite') return out('edged does not look for files before it chooses a target')
    const fields = { sheet: this.sheet, report, placeholders: this.#placeholders(region, patterns) }
    switch (name) {
      case 'root':
        for (const glob of region.globs)
          this.#roots.unshift({ glob, except: region.except, value: this.#path(args[0] ?? '.') })
        return
      case 'header':
      case 'request_header': {
        const lines =
          args.length > 0
            ? [{ ...segment, args }]
            : block
                .filter((line) => line.name !== 'defer')
                .map((line) => ({ ...line, name, args: [line.name, ...line.args] }))
        for (const line of lines) addField(name === 'header' ? 'response' : 'request', line, region.late, fields)
        return
      }
      case 'redir':
        return this.#redirect(args, region, patterns, segment)
      case 'basicauth':
      case 'basic_auth':
        return this.#protect(basicAuth(segment, args, report), region, segment)
      case 'forward_auth':
        return this.#protect(forwardAuth(segment, args, report), region, segment)
      case 'encode':
        if (region.isByPath && region.globs.includes('*') && region.except.length === 0) this.compress = true
        else
          this.sheet.add(
            'http_response_compression',
            { when: region.late, action: 'compress_response', action_parameters: { algorithms: [{ name: 'auto' }] } },
            place,
            what,
          )
        return
      case 'route':
        return this.#block(block, region, matchers, patterns, false)
      case 'respond':
      case 'error':
      case 'abort':
        return this.#respond(segment, args, region)
      case 'reverse_proxy':
        return this.#proxy(segment, args, region, fields)
      case 'file_server':
        return this.#files(segment, args, region)
      case 'php_fastcgi':
        out('edged speaks HTTP to origins; its requests get 403, so that no source of a script is served')
        respond(this.sheet, region.late, { status: 403 }, place, what)
        return
      case 'request_body':
        return
      case 'skip_log':
      case 'log_skip':
        return out('edged has one access log for all requests')
      default:
        return out('edged import does not know the directive')
    }
  }

  #placeholders(region: Region, patterns: Patterns) {
    return { patterns, prefix: region.prefix, environment: this.#context.environment }
  }

  #path(text: string): string {
    return resolve(this.#context.folder, text)
  }

  #texts(text: string, region: Region, patterns: Patterns): readonly Alternative[] | string {
    const found = partsOf(text, this.#placeholders(region, patterns))
    if (typeof found === 'string') return `the rules language has no ${found}`
    return textsOf(found.parts, found.captures) ?? 'the rules language cannot make this text'
  }

  #redirect(
    [to = '', code = '302']: readonly string[],
    region: Region,
    patterns: Patterns,
    { name, args, place }: Segment,
  ): void {
    const what = `${name} ${args.join(' ')}`
    const named: Readonly<Record<string, number>> = { permanent: 301, temporary: 302 }
    const status = named[code] ?? Number(code)
    if (![301, 302, 303, 307, 308].includes(status))
      return this.#context.report.add(place, what, `edged redirects with 301, 302, 303, 307 and 308`)
    const texts = this.#texts(to, region, patterns)
    if (typeof texts === 'string') return this.#context.report.add(place, what, texts)
    for (const { when, ...target } of texts)
      this.sheet.add(
        'http_request_dynamic_redirect',
        {
          when: allOf(region.early, when),
          action: 'redirect',
          action_parameters: { from_value: { target_url: target, status_code: status } },
        },
        place,
        what,
      )
  }

  #respond({ name, args: all, block = [], place }: Segment, args: readonly string[], region: Region): void {
    const what = `${name} ${all.join(' ')}`.trim()
    const [first = '', second] = args
    const isStatus = /^\d{3}$/.test(first) && second === undefined
    const message = block.find((each) => each.name === 'body' || each.name === 'message')?.args[0]
    const status = name === 'abort' ? 403 : Number((isStatus ? first : second) ?? (name === 'error' ? 500 : 200))
    const body = message ?? (isStatus || name === 'abort' ? undefined : first)
    if (name === 'abort')
      this.#context.report.add(place, what, 'edged responds with 403 instead of closing the connection')
    const reason = body?.includes('{http')
      ? 'the body is a constant text'
      : respond(
          this.sheet,
          region.late,
          { status, ...(body !== undefined && body !== '' && { body, type: 'text/plain; charset=utf-8' }) },
          place,
          what,
        )
    if (reason !== undefined) this.#context.report.add(place, what, reason)
  }

  #protect(auth: Auth, region: Region, { name, place }: Segment): void {
    const { report } = this.#context
    if (!region.isByPath)
      report.add(place, name, 'authentication depends on the path alone; it protects all requests to these paths')
    for (const glob of region.globs) {
      if (this.#auth.some((layer) => contains(layer.glob, glob) && layer.except.length === 0))
        report.add(place, name, 'these paths ask for another authentication already, which stays')
      this.#auth.push({ glob, except: region.isByPath ? region.except : [], value: { auth } })
    }
    this.#rejectOtherSpellings(region, place, name)
  }

  /** Caddy protects /ADMIN with /admin; entries of `paths` compare with case. */
  #rejectOtherSpellings(region: Region, place: Segment['place'], name: string): void {
    const spelled = region.globs.filter((glob) => /[a-z]/i.test(glob))
    for (const glob of spelled) {
      const [start, end] = [glob.split('*')[0]!, glob.split('*').at(-1)!]
      const exact = glob.includes('*')
        ? allOf(
            ...(start ? [part(`starts_with(${PATH}, ${literal(start)})`)] : []),
            ...(end ? [part(`ends_with(${PATH}, ${literal(end)})`)] : []),
          )
        : part(`${PATH} eq ${literal(glob)}`)
      const any = part(`${PATH} wildcard ${literal(glob)}`)
      respond(this.sheet, allOf(any, noneOf(exact)), { status: 404 }, place, `${name}: other spellings of ${glob}`)
    }
  }

  #proxy(segment: Segment, args: readonly string[], region: Region, deps: Parameters<typeof addField>[3]): void {
    const { place, name } = segment
    const found = proxied(segment, args, this.#context.report)
    if (!found) return
    for (const { segment: line, of } of found.fields) addField(of, line, region.late, deps)
    if (found.unverified)
      this.sheet.add(
        'http_config_settings',
        { when: region.late, action: 'set_config', action_parameters: { ssl: 'full' } },
        place,
        'tls_insecure_skip_verify',
      )
    this.#serve(found.target, region, segment, `${name} ${segment.args.join(' ')}`)
  }

  /** Adds a target for a region: an entry of `paths`, or a rule that names the origin. */
  #serve(target: Target, region: Region, { place }: Segment, what: string): void {
    if (region.isByPath) {
      for (const glob of region.globs) this.#content.push({ glob, except: region.except, value: target })
      return
    }
    // The first target counts, and the last rule.
    const when = allOf(region.late, noneOf(anyOf(...this.#routed)))
    this.#routed.push(region.late)
    if (!this.sheet.route(when, target, place, what))
      this.#context.report.add(
        place,
        what,
        'its matcher reads more than the path: a rule can name one origin over http',
      )
  }

  #files(segment: Segment, args: readonly string[], region: Region): void {
    const { block = [], place } = segment
    const { report } = this.#context
    const option = (name: string) => block.find((each) => each.name === name)
    if (args.includes('browse') || option('browse')) report.add(place, 'file_server browse', 'edged lists no folders')
    const index = option('index')
    if (index && !index.args.includes('index.html'))
      report.add(index.place, `index ${index.args.join(' ')}`, 'edged serves index.html for a folder')
    const hidden = option('hide')
    for (const each of hidden?.args ?? [])
      if (!each.startsWith('.'))
        report.add(
          hidden!.place,
          `hide ${each}`,
          'write a block rule for its path; files that begin with a dot are hidden',
        )
    for (const glob of region.globs) {
      const root = option('root')?.args[0]
      const folder =
        root === undefined
          ? (this.#roots.find((layer) => contains(layer.glob, glob))?.value ?? this.#path('.'))
          : this.#path(root)
      const inner = new Region({ globs: [glob], except: region.except, isByPath: region.isByPath })
      this.#serve({ root: { folder, html: 'exact' } }, inner, segment, 'file_server')
    }
  }

  #rewrite(segment: Segment, args: readonly string[], region: Region, patterns: Patterns): void {
    const { name, place } = segment
    const what = `${name} ${segment.args.join(' ')}`
    if (name === 'uri') return this.#uri(args, region, segment)
    if (name === 'try_files') return this.#tryFiles(args, region, segment)
    if (name === 'method') return this.#context.report.add(place, what, 'rules do not change the method')
    const [to = ''] = args
    // The query of the request stays unless the target has one.
    const [given = '', query] = to.includes('?') ? [to.slice(0, to.indexOf('?')), to.slice(to.indexOf('?') + 1)] : [to]
    const path = given.replaceAll('{uri}', '{path}')
    const texts =
      path === ''
        ? undefined
        : this.#texts(path.startsWith('/') || path.startsWith('{') ? path : `/${path}`, region, patterns)
    const queries = query === undefined || query === '{query}' ? undefined : this.#texts(query, region, patterns)
    const wrong = [texts, queries].find((each) => typeof each === 'string')
    if (typeof wrong === 'string') return this.#context.report.add(place, what, wrong)
    const first = (texts as readonly Alternative[] | undefined)?.[0]
    const second = (queries as readonly Alternative[] | undefined)?.[0]
    this.#change(
      region,
      { ...(first && { path: textOnly(first) }), ...(second && { query: textOnly(second) }) },
      segment,
      what,
    )
    if (path !== '' && region.isByPath) this.#moved.push({ globs: region.globs, to: path.split('{', 1)[0]! })
  }

  #change(region: Region, uri: object, { place }: Segment, what: string): void {
    this.sheet.add(
      'http_request_transform',
      { when: region.early, action: 'rewrite', action_parameters: { uri } },
      place,
      what,
    )
  }

  #uri([operation = '', first = '', second = '']: readonly string[], region: Region, segment: Segment): void {
    const what = `uri ${segment.args.join(' ')}`
    const replaced = (pattern: string, by: string) =>
      this.#change(
        region.within({ when: (field) => part(`${field} matches ${patternLiteral(pattern)}`) }),
        { path: { expression: `regex_replace(${PATH}, ${patternLiteral(pattern)}, ${literal(by)})` } },
        segment,
        what,
      )
    switch (operation) {
      case 'strip_prefix': {
        const prefix = region.prefix + (first.startsWith('/') ? first : `/${first}`)
        const inner = region.within({
          when: () => part(`starts_with(${PATH}, ${literal(prefix)})`),
          paths: [`${prefix}*`],
        })
        for (const glob of inner.globs)
          this.#strips.push({ glob, except: inner.except, value: { strip_prefix: prefix.replace(/(?<=.)\/$/, '') } })
        return
      }
      case 'strip_suffix':
        return replaced(`${escapePattern(first)}$`, '')
      case 'replace':
        this.#context.report.add(segment.place, what, 'only the first place in the path is replaced')
        return replaced(escapePattern(first), second.replaceAll('$', '$$$$'))
      case 'path_regexp':
        this.#context.report.add(segment.place, what, 'only the first match is replaced')
        return replaced(first, second.replaceAll(/\$(\d)/g, '${$1}'))
      default:
        return this.#context.report.add(segment.place, what, 'rules have no such change of the path')
    }
  }

  #tryFiles(files: readonly string[], region: Region, segment: Segment): void {
    const what = `try_files ${files.join(' ')}`
    const last = files.at(-1) ?? ''
    const [page = ''] = last.split('?', 1)
    const { report } = this.#context
    if (files.includes('{path}.html')) report.add(segment.place, what, '{path}.html is not looked for')
    if (!/^\/[\w./-]+\.html?$/.test(page)) {
      if (!/^(=404|\{path\}(\/|\.html)?)$/.test(last))
        report.add(segment.place, what, `${last} is not served for missing files; they get 404`)
      return
    }
    report.add(
      segment.place,
      what,
      `paths without a dot in their last part get ${page}; missing files with one get 404`,
    )
    const plain = region.within({
      when: (field) => noneOf(part(`${field} matches ${patternLiteral(String.raw`(\.[^/]*|^/)$`)}`)),
    })
    this.#change(plain, { path: { value: page === '/index.html' ? '/' : page } }, segment, what)
  }

  /** Targets are chosen by the path of the client: paths that a rewrite leads elsewhere get the target of the new path. */
  #followRewrites(): void {
    for (const { globs, to } of this.#moved) {
      const found = this.#content.find(
        ({ glob, except }) => contains(glob, to) && !except.some((each) => contains(each, to)),
      )
      if (!found) continue
      for (const glob of globs) if (glob !== '*') this.#content.unshift({ glob, except: [], value: found.value })
    }
  }
}

const isNever = ({ when }: Matcher): boolean => when(PATH) === NEVER || anyOf(when(PATH)) === NEVER

const changesPath = ({ name }: Segment): boolean => ['rewrite', 'uri', 'try_files', 'method'].includes(name)

/** Returns the matcher of a directive as written. Undefined if it has none. */
function matcherToken(segment: Segment): string | undefined {
  return split(segment).token
}

/** Splits the matcher from the other arguments. */
function split({ name, args }: Segment): { token: string | undefined; args: readonly string[] } {
  const [first = '', ...rest] = args
  const single = ['root', 'redir', 'rewrite'].includes(name) && args.length === 1
  const isToken = first.startsWith('@') || first === '*' || first.startsWith('/')
  return NO_MATCHER.has(name) || single || !isToken ? { token: undefined, args } : { token: first, args: rest }
}

/** Removes entries that repeat the zone, unless a later entry would match their paths. */
function distinct(entries: readonly PathEntry[], zone: Options, keepsLast: boolean): PathEntry[] {
  const kept: PathEntry[] = []
  for (const entry of entries.toReversed()) {
    if (entry.path === '*') {
      if (keepsLast) kept.unshift(entry)
      continue
    }
    const { path, ...own } = entry
    const differing = Object.fromEntries(
      Object.entries(own).filter(
        ([key, value]) => JSON.stringify(value) !== JSON.stringify(zone[key as keyof Options]),
      ),
    )
    const opens = zone.auth !== undefined && (own.auth === undefined || own.auth === false)
    const next = { path, ...differing, ...(opens && { auth: false as const }) }
    const hides = kept.some((other) => overlap(other.path, path))
    if (Object.keys(next).length > 1 || hides) kept.unshift(next)
  }
  return kept
}

/** Returns whether a path may match both patterns. */
const overlap = (a: string, b: string): boolean =>
  contains(a, b) || contains(b, a) || (a.startsWith('*') !== b.startsWith('*') && (a.endsWith('*') || b.endsWith('*')))
