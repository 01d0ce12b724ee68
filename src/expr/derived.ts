import type { Budget } from './language/budget.js'
import { lowerAscii } from './language/wildcard.js'

/** Fields that are derived from parts of other fields. */

/**
 * Returns the text after the last dot of the last segment of a path, in lower case. Returns "" without a dot, for a dot
 * at the end, and for a name whose only dot is its first character.
 */
export function pathExtension(path: string): string {
  const segment = path.slice(path.lastIndexOf('/') + 1)
  const dot = segment.lastIndexOf('.')
  return dot < 1 ? '' : lowerAscii(segment.slice(dot + 1))
}

/** Returns the media type of a Content-Type, in lower case and without parameters. */
export const mediaType = (contentType: string): string => lowerAscii((contentType.split(';', 1)[0] ?? '').trim())

/** Cost of one language, in steps of the budget. */
const LANGUAGE_STEPS = 80

/** Returns the languages of an Accept-Language, best first and as written, without `*` and languages with q=0. */
export function acceptedLanguages(header: string, budget: Budget): string[] {
  const items = header.split(',')
  budget.spend(items.length * LANGUAGE_STEPS)
  const weighted = items.flatMap((item) => {
    const [tag = '', ...parameters] = item.split(';').map((part) => part.trim())
    const q = parameters.find((parameter) => /^q=/i.test(parameter))
    const weight = q === undefined ? 1 : Number(q.slice(2))
    return tag === '' || tag === '*' || !(weight > 0) ? [] : [{ tag, weight }]
  })
  return weighted.sort((a, b) => b.weight - a.weight).map(({ tag }) => tag)
}
