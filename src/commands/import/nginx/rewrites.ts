import {
  allOf,
  ALWAYS,
  noneOf,
  part,
  PATH,
  patternLiteral,
  type Condition,
  type PathCondition,
} from '../site/condition.js'
import { respond } from '../site/fixed-response.js'
import type { Place, Report } from '../site/report.js'
import type { RuleSheet } from '../site/rules.js'
import { textOnly, textsOf, type Alternative, type Captures } from '../site/template.js'
import { ifCondition } from './conditions.js'
import type { Directive } from './parse.js'
import { fixedStart, partsOf } from './variables.js'

/** The needs of the directives of one server. */
export interface ServerContext {
  readonly sheet: RuleSheet
  readonly report: Report
  readonly serverName: string
  /** Variables that `set` gives a constant value. */
  readonly constants: Map<string, string>
}

/** A change of the path that a rule makes. */
export interface PathChange {
  readonly pattern: string
  /** The path up to the first part that depends on the request. */
  readonly to: string
  /** The location is chosen again by the changed path. */
  readonly again: boolean
  readonly place: Place
}

/** How a run of `return`, `rewrite`, `if` and `set` ends. */
export interface RewriteOutcome {
  /** No request gets past it. */
  readonly ended: boolean
  /** The condition that a request gets past the errors of it. */
  readonly passed: Condition
  readonly changes: readonly PathChange[]
}

const REDIRECTS = new Set([301, 302, 303, 307, 308])

/** Adds the rules of one block for the requests of a region. `passed`: that no error before it applies. */
export function addRewrites(
  directives: readonly Directive[],
  region: PathCondition,
  context: ServerContext,
  start: { readonly passed: Condition; readonly captures?: Captures; readonly type: string },
): RewriteOutcome {
  const run = new RewriteRun(region, context, start)
  for (const directive of directives) {
    run.take(directive, ALWAYS)
    if (run.ended) break
  }
  return run
}

class RewriteRun implements RewriteOutcome {
  ended = false
  passed: Condition
  readonly changes: PathChange[] = []
  readonly #region: PathCondition
  readonly #context: ServerContext
  readonly #captures: Captures | undefined
  readonly #type: string
  /** Requests whose path an earlier `rewrite` of this block changes: later ones do not see them. */
  #changed: Condition[] = []

  constructor(
    region: PathCondition,
    context: ServerContext,
    start: { passed: Condition; captures?: Captures; type: string },
  ) {
    this.#region = region
    this.#context = context
    this.passed = start.passed
    this.#captures = start.captures
    this.#type = start.type
  }

  take(directive: Directive, within: Condition, captures: Captures | undefined = this.#captures): void {
    const { name } = directive
    if (name === 'return') this.#return(directive, within, captures)
    else if (name === 'rewrite') this.#rewrite(directive, within)
    else if (name === 'set') this.#set(directive, within)
    else if (name === 'if') this.#if(directive)
    else if (name === 'break' && within === ALWAYS) this.ended = true
  }

  #if({ args, block = [], place }: Directive): void {
    const { report } = this.#context
    const what = `if ${args.join(' ')}`
    const condition = ifCondition(args)
    if (typeof condition === 'string') return report.add(place, what, condition)
    const other = block.find(({ name }) => !['return', 'rewrite', 'break', 'set'].includes(name))
    if (other)
      return report.add(other.place, `${other.name} in ${what}`, 'only return and rewrite are carried over from an if')
    for (const directive of block) this.take(directive, condition.when, condition.captures ?? this.#captures)
  }

  #set({ args: [name = '', value = ''], place }: Directive, within: Condition): void {
    const { constants, report } = this.#context
    const variable = name.replace(/^\$/, '')
    const parts = partsOf(value, this.#variables(undefined))
    if (within === ALWAYS && typeof parts !== 'string' && parts.every((each) => 'text' in each))
      constants.set(variable, parts.map((each) => ('text' in each ? each.text : '')).join(''))
    else report.add(place, `set ${name}`, 'the value depends on the request; rules have no variables')
  }

  #withConstants(text: string): string {
    return text.replaceAll(/\$\{?(\w+)\}?/g, (variable, name: string) => this.#context.constants.get(name) ?? variable)
  }

  #variables(captures: Captures | undefined) {
    const { constants, serverName } = this.#context
    return { constants, serverName, ...(captures && { captures }) }
  }

  /** Returns the texts of a value, after a line in the report if there are none. */
  #texts(text: string, captures: Captures | undefined, place: Place, what: string): readonly Alternative[] | undefined {
    const parts = partsOf(text, this.#variables(captures))
    const found = typeof parts === 'string' ? undefined : textsOf(parts, captures)
    if (found === undefined)
      this.#context.report.add(
        place,
        what,
        typeof parts === 'string' ? `the rules language has no ${parts}` : 'the rules language cannot make this text',
      )
    return found
  }

  #return({ args, place }: Directive, within: Condition, captures: Captures | undefined): void {
    const [first = '', second] = args
    const what = `return ${args.join(' ')}`
    const status = /^\d{3}$/.test(first) ? Number(first) : 302
    const text = /^\d{3}$/.test(first) ? second : first
    if (REDIRECTS.has(status) && text !== undefined)
      this.#redirect(text, status, this.#when(this.passed, within), captures, place, what)
    else {
      // Errors are rules of one phase, of which the first that matches responds.
      const error = this.#error(status, text, this.#when(within), captures, place, what)
      if (error !== undefined) this.#context.report.add(place, what, error)
      else this.passed = allOf(this.passed, noneOf(allOf(this.#region(PATH), within)))
    }
    if (within === ALWAYS) this.ended = true
  }

  #error(
    status: number,
    text: string | undefined,
    when: Condition,
    captures: Captures | undefined,
    place: Place,
    what: string,
  ): string | undefined {
    const { sheet, report } = this.#context
    if (status === 444) {
      report.add(place, what, 'edged responds with 403 instead of closing the connection')
      return respond(sheet, when, { status: 403 }, place, what)
    }
    if (text === undefined) return respond(sheet, when, { status }, place, what)
    const [only, ...more] = this.#texts(text, captures, place, what) ?? []
    if (only?.value === undefined || more.length > 0) return 'the body of an error is a constant text'
    return respond(sheet, when, { status, body: only.value, type: this.#type }, place, what)
  }

  #redirect(
    text: string,
    status: number,
    when: Condition,
    captures: Captures | undefined,
    place: Place,
    what: string,
  ): void {
    // The query of the request at the end.
    const [, base = text, query] =
      /^(.*?)(\$is_args\$(?:args|query_string)|\$\{is_args\}\$\{args\})?$/s.exec(text) ?? []
    const to = { text: base, status, keepsQuery: query !== undefined }
    this.#addRedirects(to, when, captures, place, what)
  }

  /** Adds a rule that redirects for each text that the target may have. */
  #addRedirects(
    to: { readonly text: string; readonly status: number; readonly keepsQuery: boolean },
    when: Condition,
    captures: Captures | undefined,
    place: Place,
    what: string,
  ): void {
    for (const { when: also, ...target } of this.#texts(to.text, captures, place, what) ?? [])
      this.#context.sheet.add(
        'http_request_dynamic_redirect',
        {
          when: allOf(when, also),
          action: 'redirect',
          action_parameters: {
            from_value: {
              target_url: target,
              status_code: to.status,
              ...(to.keepsQuery && { preserve_query_string: true }),
            },
          },
        },
        place,
        what,
      )
  }

  #when(...conditions: readonly Condition[]): Condition {
    return allOf(this.#region(PATH), ...conditions, ...this.#changed.map(noneOf))
  }

  #rewrite({ args, place }: Directive, within: Condition): void {
    const [given = '', replacement = '', flag = ''] = args
    const what = `rewrite ${args.join(' ')}`
    const captures = { source: PATH, pattern: given }
    const matched =
      given === '^' || given === '^.*$' || given === '.*' ? ALWAYS : part(`${PATH} matches ${patternLiteral(given)}`)
    const when = this.#when(this.passed, within, matched)
    if (/^(https?:\/\/|\$scheme)/.test(replacement) || flag === 'redirect' || flag === 'permanent') {
      const ends = replacement.endsWith('?')
      const to = {
        text: ends ? replacement.slice(0, -1) : replacement,
        status: flag === 'permanent' ? 301 : 302,
        keepsQuery: !ends,
      }
      this.#addRedirects(to, when, captures, place, what)
      return
    }
    const [path, query] = splitQuery(replacement)
    const newPath = this.#texts(path, captures, place, what)?.[0]
    if (newPath === undefined || !this.#addChange(when, newPath, query, captures, place, what)) return
    if (flag === '')
      this.#context.report.add(place, what, 'later lines of the block do not see the new path; say last or break')
    this.#changed.push(allOf(within, matched))
    this.changes.push({ pattern: given, to: fixedStart(this.#withConstants(path)), again: flag !== 'break', place })
    if (matched === ALWAYS && within === ALWAYS) this.ended = true
  }

  /** Adds the rule that changes path and query. */
  #addChange(
    when: Condition,
    changed: Alternative,
    query: string | undefined,
    captures: Captures,
    place: Place,
    what: string,
  ): boolean {
    const path = textOnly(changed)
    const add = (condition: Condition, change?: object) =>
      this.#context.sheet.add(
        'http_request_transform',
        { when: condition, action: 'rewrite', action_parameters: { uri: { path, ...(change && { query: change }) } } },
        place,
        what,
      )
    if (query === undefined) return add(when)
    if (query === '') return add(when, { value: '' })
    const keeps = !query.endsWith('?')
    const text = keeps ? query.replace(/&?\$(args|query_string)$/, '') : query.slice(0, -1)
    const given = this.#texts(text, captures, place, what)?.[0]
    if (given === undefined) return false
    const alone = textOnly(given)
    if (text === '') return add(when)
    if (!keeps) return add(when, alone)
    const empty = part('http.request.uri.query eq ""')
    const own = alone.expression ?? JSON.stringify(alone.value)
    return (
      add(allOf(when, empty), alone) &&
      add(allOf(when, noneOf(empty)), { expression: `concat(${own}, "&", http.request.uri.query)` })
    )
  }
}

/** Splits a replacement at its question mark. */
function splitQuery(text: string): [string, string?] {
  const at = text.indexOf('?')
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + 1)]
}
