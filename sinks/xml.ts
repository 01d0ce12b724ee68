import sax from 'sax'

/** The text of the first element of each of some names in a document; absent if there is none, or no well-formed one. */
export function elements<const N extends string>(document: string, names: readonly N[]): Partial<Record<N, string>> {
  const found: Partial<Record<N, string>> = {}
  let current: N | undefined
  const reader = Object.assign(sax.parser(true), {
    onopentag: ({ name }: { readonly name: string }) => {
      current = names.find((one) => one === name && found[one] === undefined)
    },
    ontext: (text: string) => {
      if (current !== undefined) found[current] = text
    },
    onclosetag: () => {
      current = undefined
    },
    onerror: (error: Error) => {
      throw error
    },
  })
  try {
    reader.write(document).close()
  } catch {
    return {}
  }
  return found
}
