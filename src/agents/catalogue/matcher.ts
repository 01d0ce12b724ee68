import type { Catalogue } from './catalogue.js'
import type { AgentEntry } from './form.js'

/** Only the beginning of a User-Agent is searched. */
const MAX_SEARCHED = 512
/** Last values of User-Agent, in two generations. */
const MAX_REMEMBERED = 1024

/** Finds the agent that a User-Agent names. */
export class UserAgentMatcher {
  readonly #pattern: RegExp | undefined
  /** By token in lower case. */
  readonly #agents = new Map<string, AgentEntry>()
  #young = new Map<string, AgentEntry | undefined>()
  #old = new Map<string, AgentEntry | undefined>()

  constructor(catalogue: Catalogue) {
    const tokens: { readonly token: string; readonly word: boolean }[] = []
    for (const entry of catalogue.values()) {
      if (entry.robots_only) continue
      for (const token of entry.user_agent) {
        const lower = token.toLowerCase()
        if (this.#agents.has(lower)) continue
        this.#agents.set(lower, entry)
        tokens.push({ token: lower, word: entry.word ?? false })
      }
    }
    if (tokens.length === 0) return
    const longestFirst = tokens.toSorted((a, b) => b.token.length - a.token.length)
    this.#pattern = new RegExp(
      longestFirst
        .map(({ token, word }) => (word ? `(?<![a-z0-9])${escaped(token)}(?![a-z0-9])` : escaped(token)))
        .join('|'),
      'gi',
    )
  }

  /** Returns the agent, or undefined for any other client. */
  find(userAgent: string): AgentEntry | undefined {
    const text = userAgent.length > MAX_SEARCHED ? userAgent.slice(0, MAX_SEARCHED) : userAgent
    const known = this.#young.get(text)
    if (known !== undefined || this.#young.has(text)) return known
    const found = this.#old.has(text) ? this.#old.get(text) : this.#search(text)
    if (this.#young.size >= MAX_REMEMBERED) {
      this.#old = this.#young
      this.#young = new Map()
    }
    // A copy: the text is part of the head of a request, which would stay in memory.
    this.#young.set(Buffer.from(text, 'latin1').toString('latin1'), found)
    return found
  }

  #search(text: string): AgentEntry | undefined {
    if (this.#pattern === undefined) return undefined
    let best: { readonly length: number; readonly entry: AgentEntry } | undefined
    for (const [token] of text.matchAll(this.#pattern)) {
      const entry = this.#agents.get(token.toLowerCase())
      if (entry === undefined) continue
      if (best !== undefined && !isBetter(entry, token.length, best)) continue
      best = { length: token.length, entry }
    }
    return best?.entry
  }
}

function isBetter(entry: AgentEntry, length: number, best: { length: number; entry: AgentEntry }): boolean {
  if (entry.wins_over?.includes(best.entry.name)) return true
  if (best.entry.wins_over?.includes(entry.name)) return false
  return length > best.length
}

const escaped = (token: string): string => token.replaceAll(/[\\^$.*+?()[\]{}|/-]/g, String.raw`\$&`)
