import sax from 'sax'

/**
 * Returns, for each name, the text of the first element with this name. A name is absent if the document lacks it or is
 * not well-formed.
 */
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
