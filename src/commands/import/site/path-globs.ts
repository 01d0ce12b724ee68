/** More patterns than this are not written for one regular expression. */
const MAX_GLOBS = 64

/**
 * Returns patterns of `paths` that match the texts of a regular expression. Of a pattern for any case they match the text as
 * written, in lower and in upper case. Undefined if `paths` have no such patterns.
 */
export function pathGlobs(pattern: string): readonly string[] | undefined {
  const insensitive = pattern.startsWith('(?i)')
  let rest = insensitive ? pattern.slice(4) : pattern
  const starts = rest.startsWith('^')
  if (starts) rest = rest.slice(1)
  const ends = rest.endsWith('$') && !rest.endsWith(String.raw`\$`)
  if (ends) rest = rest.slice(0, -1)
  const found = sequence(rest)
  if (found === undefined || found.length > MAX_GLOBS) return undefined
  const texts = insensitive ? spellings(found) : found
  return texts.map((glob) => `${starts ? '' : '*'}${glob}${ends ? '' : '*'}`.replaceAll(/\*{2,}/g, '*'))
}

/** Returns the texts as written, and in lower and upper case, as far as they fit into the limit. */
const spellings = (texts: readonly string[]): readonly string[] =>
  [...new Set(texts.flatMap((text) => [text, text.toLowerCase(), text.toUpperCase()]))].slice(0, MAX_GLOBS)

/** Returns the texts of a sequence of literals, `.*` and groups of alternatives. */
function sequence(pattern: string): string[] | undefined {
  let texts = ['']
  let rest = pattern
  while (rest !== '') {
    const [taken, choices] = element(rest) ?? []
    if (taken === undefined || choices === undefined) return undefined
    rest = rest.slice(taken)
    let all = choices
    if (rest.startsWith('?')) {
      all = [...choices, '']
      rest = rest.slice(1)
    } else if (/^[*+{]/.test(rest)) return undefined
    texts = texts.flatMap((text) => all.map((choice) => text + choice))
    if (texts.length > MAX_GLOBS) return undefined
  }
  return texts
}

/** Returns the length of the first element and its texts. */
function element(pattern: string): readonly [number, string[]] | undefined {
  const everything = /^(?:\(\.\*\)|\.\*)/.exec(pattern)?.[0]
  if (everything !== undefined) return [everything.length, ['*']]
  const escape = /^\\([^\w])/.exec(pattern)
  if (escape) return escape[1] === '*' ? undefined : [2, [escape[1]!]]
  const plain = /^[^\\.[\](){}*+?|^$]/.exec(pattern)
  if (plain) return [1, [plain[0]]]
  const group = /^\((?:\?:)?((?:\\.|[^()\\])*)\)/.exec(pattern)
  if (!group) return undefined
  const choices = group[1]!.split('|').map(sequence)
  return choices.includes(undefined) ? undefined : [group[0].length, choices.flatMap((choice) => choice ?? [])]
}
