import { InvalidInput, type Issue } from '../../core/errors.js'
import { glob } from './pattern.js'

const MAX_RULES = 100
const MAX_CHARACTERS = 100

/** Returns whether assets or the Worker get a request first by path rules. Undefined if no rule matches. */
export type FirstRules = (path: string) => 'assets' | 'worker' | undefined

/** Returns errors in the rules of `run_worker_first`, with pointers below `at`. */
export function workerFirstIssues(rules: readonly string[], at: string): Issue[] {
  if (rules.length > MAX_RULES) return [{ pointer: at, message: `at most ${MAX_RULES} rules are allowed` }]
  const issues: Issue[] = []
  const add = (index: number, message: string) => issues.push({ pointer: `${at}/${index}`, message })
  const wide = rules.filter((rule) => rule.endsWith('*'))
  for (const [index, rule] of rules.entries()) {
    if (!/^!?\//.test(rule)) add(index, 'the rule must begin with / or !/')
    else if (rule.length > MAX_CHARACTERS) add(index, `the rule is longer than ${MAX_CHARACTERS} characters`)
    else if (rules.indexOf(rule) < index) add(index, 'the rule is a duplicate')
    else {
      const wider = wide.find((other) => other !== rule && rule.startsWith(other.slice(0, -1)))
      if (wider !== undefined) add(index, `the rule ${wider} covers it`)
    }
  }
  if (rules.every((rule) => rule.startsWith('!')))
    issues.push({ pointer: at, message: 'at least one rule must not begin with !' })
  return issues
}

/** Compiles rules. Throws InvalidInput if {@link workerFirstIssues} finds an issue. */
export function firstRules(rules: readonly string[]): FirstRules {
  const issues = workerFirstIssues(rules, '')
  if (issues.length > 0) throw new InvalidInput(issues)
  const negative = rules.filter((rule) => rule.startsWith('!')).map((rule) => glob(rule.slice(1)))
  const positive = rules.filter((rule) => !rule.startsWith('!')).map(glob)
  return (path) => {
    if (negative.some((fits) => fits(path))) return 'assets'
    return positive.some((fits) => fits(path)) ? 'worker' : undefined
  }
}
