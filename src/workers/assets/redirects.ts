import type { HtmlHandling } from './config.js'
import { encodedPath, lines, tailOf, Warnings, type Warning } from './lines.js'
import { filled, hasWildcards, pattern, type Pattern } from './pattern.js'

const STATUSES = [200, 301, 302, 303, 307, 308] as const
/** 200 serves another path without a redirect. */
export type RedirectStatus = (typeof STATUSES)[number]

const MAX_STATIC = 2000
const MAX_DYNAMIC = 100

interface Rule {
  readonly pattern: Pattern
  readonly to: string
  readonly status: RedirectStatus
}

/** Destination and status of a redirected request. */
export interface Redirect {
  /** A path, or a URL with https, with the query of the rule if it has one. Always a path for status 200. */
  readonly to: string
  readonly status: RedirectStatus
}

/** The rules of a `_redirects` file. */
export interface Redirects {
  readonly rules: number
  readonly warnings: readonly Warning[]
  /** Returns the first rule for a percent-encoded path. Static rules come first. */
  find(path: string): Redirect | undefined
}

/** Reads a `_redirects` file. Skips invalid lines with a warning. */
export function parseRedirects(text: string, htmlHandling: HtmlHandling): Redirects {
  const warnings = new Warnings()
  const fixed = new Map<string, Redirect>()
  const dynamic: Rule[] = []
  const seen = new Set<string>()
  for (const { line, text: content } of lines(text, warnings)) {
    try {
      const rule = readRule(content, htmlHandling)
      if (seen.has(rule.from)) throw new TypeError(`there is a rule for ${rule.from} already`)
      const isStatic = dynamic.length === 0 && !hasWildcards(rule.from)
      const full = isStatic ? fixed.size >= MAX_STATIC : dynamic.length >= MAX_DYNAMIC
      if (full) {
        const max = isStatic ? `${MAX_STATIC} static` : `${MAX_DYNAMIC} dynamic`
        warnings.add(line, `more than ${max} rules: this line and all after it are left out`)
        break
      }
      if (isStatic) fixed.set(rule.from, rule)
      else dynamic.push({ pattern: pattern(rule.from), to: rule.to, status: rule.status })
      seen.add(rule.from)
    } catch (error) {
      if (!(error instanceof TypeError)) throw error
      warnings.add(line, error.message)
    }
  }
  return {
    rules: seen.size,
    warnings: warnings.list,
    find(path) {
      const known = fixed.get(path)
      if (known) return known
      for (const { pattern, to, status } of dynamic) {
        const captured = pattern.match(path)
        if (captured) return { to: local(filled(to, captured)), status }
      }
      return undefined
    },
  }
}

/**
 * Returns a path with single slashes, as in the hosted service. One that starts with two would lead to another site, which
 * the client could choose.
 */
const local = (to: string): string =>
  to.startsWith('/') ? to.replace(/^[^?#]*/, (path) => path.replaceAll(/\/{2,}/g, '/')) : to

/** Parses `from to [status]`. Throws a TypeError with a message if it is not valid. */
function readRule(content: string, htmlHandling: HtmlHandling): { from: string } & Redirect {
  // A `#` inside a word belongs to it.
  const words = content.replace(/\s#.*$/, '').split(/\s+/)
  if (words.length !== 2 && words.length !== 3) throw new TypeError(`2 or 3 words are expected, not ${words.length}`)
  const [asked = '', target = '', code = '302'] = words
  const from = encodedPath(asked)
  if (from === undefined) throw new TypeError(`the path must begin with one slash: ${asked}`)
  const to = destination(target)
  if (to === undefined) throw new TypeError(`the destination must be a path or begin with https://: ${target}`)
  const status = STATUSES.find((known) => String(known) === code)
  if (status === undefined) throw new TypeError(`the status must be one of ${STATUSES.join(', ')}, not ${code}`)
  if (loops(from, to, htmlHandling)) throw new TypeError('the rule leads to itself')
  if (status === 200 && !to.startsWith('/')) throw new TypeError(`status 200 wants a path, not ${target}`)
  return { from, to, status }
}

/** Returns the destination with its query and fragment. Undefined if it is not allowed. */
function destination(text: string): string | undefined {
  if (text.startsWith('/')) {
    const path = encodedPath(text)
    return path === undefined ? undefined : path + tailOf(text)
  }
  if (!text.startsWith('https://') || !URL.canParse(withoutNames(text))) return undefined
  return encodeURI(decoded(text))
}

/** Names of wildcards can be part of the host, which no URL parser accepts. */
const withoutNames = (text: string): string => text.replaceAll(/:([A-Za-z]\w*)/g, '$1')

function decoded(text: string): string {
  try {
    return decodeURI(text)
  } catch {
    throw new TypeError(`the destination has a broken escape: ${text}`)
  }
}

/** Pages named index are redirected to their folder, which such a rule would redirect again. */
function loops(from: string, to: string, htmlHandling: HtmlHandling): boolean {
  if (!/\/index(?:\.html)?$/.test(to)) return false
  return from.endsWith('/*') || (from.endsWith('/') && htmlHandling !== 'none')
}
