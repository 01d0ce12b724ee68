import { caselessLetter, type Hir } from './hir.js'

/** Maximum number of texts of a useful gate. */
const MAX_TEXTS = 32
const MIN_LENGTH = 3

/**
 * Returns texts such that every match contains at least one, with ASCII letters in lower case on both sides. Undefined
 * if no useful set is known. Chooses the set with the longest shortest text.
 */
export function requiredTexts(hir: Hir): readonly string[] | undefined {
  const best = required(hir)
  return best === undefined || shortest(best) < MIN_LENGTH ? undefined : best
}

const shortest = (texts: readonly string[]): number => Math.min(...texts.map((text) => text.length))

function required(hir: Hir): readonly string[] | undefined {
  switch (hir.kind) {
    case 'group':
      return required(hir.item)
    case 'class': {
      const text = exact(hir)
      return text === undefined ? undefined : [text]
    }
    case 'repeat':
      return hir.min > 0 ? required(hir.item) : undefined
    case 'alt': {
      const texts: string[] = []
      for (const item of hir.items) {
        const found = required(item)
        if (found === undefined) return undefined
        texts.push(...found)
      }
      return texts.length > MAX_TEXTS ? undefined : [...new Set(texts)]
    }
    case 'concat':
      return sequence(hir.items)
    default:
      return undefined
  }
}

/** Returns the best of the runs of plain characters and of the parts with their own sets. */
function sequence(items: readonly Hir[]): readonly string[] | undefined {
  let best: readonly string[] | undefined
  const offer = (texts: readonly string[] | undefined) => {
    if (texts !== undefined && (best === undefined || shortest(texts) > shortest(best))) best = texts
  }
  let run = ''
  for (const item of items) {
    const text = exact(item)
    if (text !== undefined) {
      run += text
      continue
    }
    if (run !== '') offer([run])
    run = ''
    offer(required(item))
  }
  if (run !== '') offer([run])
  return best
}

/** Returns the one text of a part, its letters in lower case. Undefined if the part has several texts. */
function exact(hir: Hir): string | undefined {
  if (hir.kind === 'group') return exact(hir.item)
  if (hir.kind !== 'class') return undefined
  const [first, last] = hir.set
  if (first === undefined) return undefined
  if (hir.set.length === 2 && first === last) return String.fromCharCode(first).replace(/[A-Z]/, (c) => c.toLowerCase())
  // Both cases of one letter are that letter.
  const letter = caselessLetter(hir.set)
  return letter === undefined ? undefined : String.fromCharCode(letter)
}
