import type { ComponentChildren } from 'preact'
import { useMemo, useState } from 'preact/hooks'
import { PER_PAGE } from '../hooks.ts'
import { TextField } from '../parts.tsx'
import { Pager } from '../table.tsx'
import type { RuleInput } from './rule-form.tsx'

export interface Rule extends RuleInput {
  readonly id: string
}

/** Requests that a rule acted on since the start of the daemon. */
export interface RuleCount {
  readonly rule_id: string
  readonly matches: number
  readonly failures: number
}

/** The rules that a search finds, a page of them, with their places in the order of all rules. */
export interface FoundRules<R extends Rule> {
  readonly shown: readonly { readonly rule: R; readonly at: number }[]
  readonly count: (rule: R) => RuleCount | undefined
  /** Shows the page with the rule at a place. A search stays on its page. */
  readonly showPlace: (at: number) => void
  /** Writes the search, the items in a list, and the buttons of the pages. */
  readonly list: (items: ComponentChildren) => ComponentChildren
}

const textOf = ({ action, description = '', expression }: Rule): string => `${action} ${description} ${expression}`

/** Searches rules by their text, and divides them into pages. */
export function useRuleSearch<R extends Rule>(rules: readonly R[], counts: readonly RuleCount[]): FoundRules<R> {
  const [search, setSearch] = useState('')
  const [chosen, setPage] = useState(1)
  const byRule = useMemo(() => new Map(counts.map((count) => [count.rule_id, count])), [counts])
  const wanted = search.trim().toLowerCase()
  const found = rules
    .map((rule, at) => ({ rule, at }))
    .filter(({ rule }) => wanted === '' || textOf(rule).toLowerCase().includes(wanted))
  const page = Math.min(chosen, Math.max(1, Math.ceil(found.length / PER_PAGE)))
  return {
    shown: found.slice((page - 1) * PER_PAGE, page * PER_PAGE),
    count: ({ id }) => byRule.get(id),
    showPlace: (at) => {
      if (wanted === '') setPage(Math.floor(at / PER_PAGE) + 1)
    },
    list: (items) => (
      <>
        {(rules.length > 10 || search !== '') && (
          <TextField
            label="Search in the rules"
            value={search}
            onInput={(text) => {
              setSearch(text)
              setPage(1)
            }}
          />
        )}
        <ol class="rules" aria-label="Rules in the order in which they run">
          {items}
        </ol>
        {found.length === 0 && rules.length > 0 && <p class="soft">Nothing matches the search.</p>}
        <Pager caption="Rules" page={page} total={found.length} onPage={setPage} />
      </>
    ),
  }
}

/** Requests that a rule acted on since the start of the daemon. */
export function Hits({ count }: { count: RuleCount | undefined }) {
  const { matches = 0, failures = 0 } = count ?? {}
  return (
    <span class="soft">
      {`${matches.toLocaleString()} ${matches === 1 ? 'hit' : 'hits'}`}
      {failures > 0 && <span class="bad">{`, ${failures.toLocaleString()} failures`}</span>}
    </span>
  )
}
