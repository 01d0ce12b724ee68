import { Hits, useRuleSearch, type Rule, type RuleCount } from './rule-search.tsx'

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
  const { shown, count, list } = useRuleSearch(rules, counts)
  return (
    <>
      <p>
        <span aria-hidden="true">🔒 </span>
        From <code title={source.file}>{placeText(source)}</code>. Change the rules there and run{' '}
        <code>edged reload</code>.
      </p>
      {rules.length === 0 && <p class="soft">The file has no rules for this phase.</p>}
      {list(
        shown.map(({ rule }) => (
          <li key={rule.id}>
            <strong>{rule.action}</strong>
            {rule.description && <span>{rule.description}</span>}
            <code>{rule.expression}</code>
            <Hits count={count(rule)} />
            {rule.enabled === false && <span class="soft">Disabled</span>}
            {rule.edged_source && <span class="soft">From {placeText(rule.edged_source)}</span>}
          </li>
        )),
      )}
    </>
  )
}
