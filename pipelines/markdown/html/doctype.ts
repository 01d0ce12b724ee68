/** Parts of a doctype; `null` for missing ones. */
export interface Doctype {
  name: string | null
  publicId: string | null
  systemId: string | null
  quirks: boolean
}

const isSpace = (char: string) => char === ' ' || char === '\n' || char === '\t' || char === '\f'

function afterSpace(text: string, from: number): number {
  let at = from
  while (at < text.length && isSpace(text.charAt(at))) at++
  return at
}

/**
 * Reads the text between `<!doctype` and its `>`. A `>` ends it even inside quotes, so `text` never contains one. With
 * `cut` the page ended before the `>`. WHATWG HTML, 13.2.5.53 to 13.2.5.68.
 */
export function readDoctype(text: string, cut: boolean): Doctype {
  const doctype: Doctype = { name: null, publicId: null, systemId: null, quirks: cut }
  let at = afterSpace(text, 0)
  const nameStart = at
  while (at < text.length && !isSpace(text.charAt(at))) at++
  if (at === nameStart) return { ...doctype, quirks: true }
  doctype.name = text.slice(nameStart, at).replace(/[A-Z]+/g, (upper) => upper.toLowerCase())

  at = afterSpace(text, at)
  if (at === text.length) return doctype
  const keyword = text.slice(at, at + 6).toLowerCase()
  if (keyword !== 'public' && keyword !== 'system') return { ...doctype, quirks: true }

  const id = quoted(text, at + 6)
  if (keyword === 'public') doctype.publicId = id.value
  else doctype.systemId = id.value
  if (!id.closed) return { ...doctype, quirks: true }
  at = afterSpace(text, id.end)
  if (at === text.length) return doctype

  if (keyword === 'public') {
    const system = quoted(text, at)
    doctype.systemId = system.value
    if (!system.closed) return { ...doctype, quirks: true }
    at = afterSpace(text, system.end)
    if (at === text.length) return doctype
  }
  // Text after the identifiers is ignored, and so is its end.
  doctype.quirks = false
  return doctype
}

function quoted(text: string, from: number): { value: string | null; closed: boolean; end: number } {
  const start = afterSpace(text, from)
  const quote = text.charAt(start)
  if (quote !== '"' && quote !== "'") return { value: null, closed: false, end: start }
  const end = text.indexOf(quote, start + 1)
  return end < 0
    ? { value: text.slice(start + 1), closed: false, end: text.length }
    : { value: text.slice(start + 1, end), closed: true, end: end + 1 }
}
