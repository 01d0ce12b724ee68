/** Opening and closing text of strings, names and comments in SQL. */
const CLOSERS: readonly (readonly [open: string, close: string])[] = [
  ["'", "'"],
  ['"', '"'],
  ['`', '`'],
  ['[', ']'],
  ['--', '\n'],
  ['/*', '*/'],
]
const WORD = /[A-Za-z_]/

/** Splits SQL into its statements. Bodies of triggers stay in one piece. Empty statements are left out. */
export function sqlStatements(sql: string): string[] {
  const statements: string[] = []
  let start = 0
  /** First words of the statement, enough to see whether it creates a trigger. */
  let words: string[] = []
  /** Open `BEGIN` and `CASE` of a trigger. */
  let depth = 0
  let hasText = false
  for (let at = 0; at < sql.length;) {
    const closer = CLOSERS.find(([open]) => sql.startsWith(open, at))
    if (closer) {
      const [open, close] = closer
      const end = sql.indexOf(close, at + open.length)
      hasText ||= open !== '--' && open !== '/*'
      at = end < 0 ? sql.length : end + close.length
    } else if (WORD.test(sql[at]!)) {
      const [word = ''] = /^\w+/.exec(sql.slice(at, at + 64)) ?? []
      const name = word.toUpperCase()
      if (words.length < 4) words.push(name)
      const isTrigger = words[0] === 'CREATE' && words.includes('TRIGGER')
      if (isTrigger && (name === 'BEGIN' || name === 'CASE')) depth += 1
      else if (isTrigger && name === 'END') depth -= 1
      hasText = true
      at += word.length
    } else if (sql[at] === ';' && depth <= 0) {
      if (hasText) statements.push(sql.slice(start, at + 1).trim())
      at += 1
      ;[start, words, depth, hasText] = [at, [], 0, false]
    } else {
      hasText ||= !/\s|;/.test(sql[at]!)
      at += 1
    }
  }
  if (hasText) statements.push(sql.slice(start).trim())
  return statements
}
