import { ALWAYS, allOf, anyOf, NEVER, PATH } from '../site/condition.js'
import { respond } from '../site/fixed-response.js'
import { contains } from '../site/layers.js'
import type { ImportedZone } from '../site/model.js'
import { basicAuth, forwardAuth } from './access.js'
import { addField } from './fields.js'
import { EVERY, matcherOf, pathMatcher, type Matcher } from './matchers.js'
import { inOrder } from './order.js'
import type { Segment } from './parse.js'
import type { Patterns } from './placeholders.js'
import { proxied } from './proxy.js'
import { Region } from './region.js'
import { rewrite } from './rewrites.js'
import { ZoneDraft, type SiteContext } from './zone-draft.js'

/** Directives of a site that are read elsewhere. */
const ELSEWHERE = new Set(['tls', 'log', 'bind'])
/** Directives that a matcher cannot come before. */
const NO_MATCHER = new Set(['try_files', 'log', 'tls', 'bind', 'handle_errors', 'map', 'import'])

/** Compiles the directives of a site to one zone. */
export class SiteCompiler {
  readonly #draft: ZoneDraft

  constructor(context: SiteContext) {
    this.#draft = new ZoneDraft(context)
  }

  /** Returns the zone without its names. */
  compile(block: readonly Segment[]): Omit<ImportedZone, 'name' | 'hostnames'> {
    this.#block(block, new Region(), new Map(), new Map(), true)
    return this.#draft.zone()
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
        rewrite(this.#draft, segment, args, inner, own)
        current = current.afterRewrite()
        handles = handles.afterRewrite()
        continue
      }
      this.#directive(segment, args, found, current.within(found), matchers, own)
    }
  }

  #matcher(token: string | undefined, matchers: ReadonlyMap<string, Segment>, region: Region): Matcher | string {
    const context = { prefix: region.prefix, host: this.#draft.context.host, apart: this.#draft.context.apart }
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
    this.#draft.context.report.add(
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
      return this.#draft.context.report.add(place, name, 'edged does not look for files before it chooses a target')
    if (isNever(matcher)) return
    if (name === 'handle') return this.#block(block, region.within(matcher), matchers, patterns, true)
    const token = matcherToken(segment) ?? ''
    const prefix = token.replace(/\*$/, '').replace(/\/$/, '')
    const inner = region.within(matcher, region.prefix + prefix)
    if (prefix !== '')
      for (const glob of inner.globs)
        this.#draft.strips.push({ glob, except: inner.except, value: { strip_prefix: region.prefix + prefix } })
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
    const { report } = this.#draft.context
    const what = `${name} ${segment.args.join(' ')}`.trim()
    const out = (reason: string) => report.add(place, what, reason)
    if (isNever(matcher)) return
    if (matcher.files && name !== 'rewrite') return out('edged does not look for files before it chooses a target')
    const fields = { sheet: this.#draft.sheet, report, placeholders: this.#draft.placeholders(region, patterns) }
    switch (name) {
      case 'root':
        for (const glob of region.globs)
          this.#draft.roots.unshift({ glob, except: region.except, value: this.#draft.path(args[0] ?? '.') })
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
        return this.#draft.protect(basicAuth(segment, args, report), region, segment)
      case 'forward_auth':
        return this.#draft.protect(forwardAuth(segment, args, report), region, segment)
      case 'encode':
        if (region.isByPath && region.globs.includes('*') && region.except.length === 0) this.#draft.compress = true
        else
          this.#draft.sheet.add(
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
        respond(this.#draft.sheet, region.late, { status: 403 }, place, what)
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
      return this.#draft.context.report.add(place, what, `edged redirects with 301, 302, 303, 307 and 308`)
    const texts = this.#draft.texts(to, region, patterns)
    if (typeof texts === 'string') return this.#draft.context.report.add(place, what, texts)
    for (const { when, ...target } of texts)
      this.#draft.sheet.add(
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
      this.#draft.context.report.add(place, what, 'edged responds with 403 instead of closing the connection')
    const reason = body?.includes('{http')
      ? 'the body is a constant text'
      : respond(
          this.#draft.sheet,
          region.late,
          { status, ...(body !== undefined && body !== '' && { body, type: 'text/plain; charset=utf-8' }) },
          place,
          what,
        )
    if (reason !== undefined) this.#draft.context.report.add(place, what, reason)
  }

  #proxy(segment: Segment, args: readonly string[], region: Region, deps: Parameters<typeof addField>[3]): void {
    const { place, name } = segment
    const found = proxied(segment, args, this.#draft.context.report)
    if (!found) return
    for (const { segment: line, of } of found.fields) addField(of, line, region.late, deps)
    if (found.unverified)
      this.#draft.sheet.add(
        'http_config_settings',
        { when: region.late, action: 'set_config', action_parameters: { ssl: 'full' } },
        place,
        'tls_insecure_skip_verify',
      )
    this.#draft.serve(found.target, region, segment, `${name} ${segment.args.join(' ')}`)
  }

  #files(segment: Segment, args: readonly string[], region: Region): void {
    const { block = [], place } = segment
    const { report } = this.#draft.context
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
          ? (this.#draft.roots.find((layer) => contains(layer.glob, glob))?.value ?? this.#draft.path('.'))
          : this.#draft.path(root)
      const inner = new Region({ globs: [glob], except: region.except, isByPath: region.isByPath })
      this.#draft.serve({ root: { folder, html: 'exact' } }, inner, segment, 'file_server')
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
