import { useMemo, useState } from 'preact/hooks'
import { PER_PAGE } from '../hooks.ts'
import { TextField } from '../parts.tsx'
import { Pager } from '../table.tsx'
import { Hits, textOf, type Rule, type RuleCount } from './rule-list.tsx'

/** A place in the configuration file. */
export interface Source {
  readonly file: string
  readonly line: number
}

/** Returns a place as people write it, `edged.yaml:41`. */
const placeText = ({ file, line }: Source): string => `${file.split('/').at(-1)}:${line}`

/** Rules of the configuration file: they are changed there, so there is nothing to press. */
export function FileRules({
  source,
  rules,
  counts,
}: {
  source: Source
  rules: readonly (Rule & { readonly edged_source?: Source })[]
  counts: readonly RuleCount[]
}) {
  const [search, setSearch] = useState('')
  const [chosen, setPage] = useState(1)
  const byRule = useMemo(() => new Map(counts.map((count) => [count.rule_id, count])), [counts])
  const wanted = search.trim().toLowerCase()
  const found = rules.filter((rule) => wanted === '' || textOf(rule).toLowerCase().includes(wanted))
  const page = Math.min(chosen, Math.max(1, Math.ceil(found.length / PER_PAGE)))
  return (
    <>
      <p>
        <span aria-hidden="true">🔒 </span>
        From <code title={source.file}>{placeText(source)}</code>. Change the rules there and run{' '}
        <code>edged reload</code>.
      </p>
      {rules.length === 0 && <p class="soft">The file has no rules for this phase.</p>}
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
        {found.slice((page - 1) * PER_PAGE, page * PER_PAGE).map((rule) => (
          <li key={rule.id}>
            <strong>{rule.action}</strong>
            {rule.description && <span>{rule.description}</span>}
            <code>{rule.expression}</code>
            <Hits count={byRule.get(rule.id)} />
            {rule.enabled === false && <span class="soft">Disabled</span>}
            {rule.edged_source && <span class="soft">From {placeText(rule.edged_source)}</span>}
          </li>
        ))}
      </ol>
      {found.length === 0 && rules.length > 0 && <p class="soft">Nothing matches the search.</p>}
      <Pager caption="Rules" page={page} total={found.length} onPage={setPage} />
    </>
  )
}
