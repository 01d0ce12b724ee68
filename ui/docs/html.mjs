const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;' }

/** Escapes text for element content and attribute values. */
export const escaped = (text) => text.replaceAll(/[&<>"]/g, (char) => ENTITIES[char])

/** Returns the id of a heading. Links of the dashboard and of other sites contain these ids. */
export const slug = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')

/** Returns a function that makes ids unique on one page: the second `limits` is `limits-2`. */
export function uniqueIds() {
  const used = new Map()
  return (id) => {
    const count = (used.get(id) ?? 0) + 1
    used.set(id, count)
    return count === 1 ? id : `${id}-${count}`
  }
}

/** Renders a heading with a link to itself. */
export const heading = (depth, id, html, text) =>
  `<h${depth} id="${escaped(id)}">${html}` +
  `<a class="anchor" href="#${escaped(id)}" aria-label="Link to ${escaped(text)}">#</a></h${depth}>\n`

/** Renders a table in a box that scrolls sideways, also by keyboard. */
export const scrolling = (table, name) =>
  `<div class="scroll" role="group" tabindex="0" aria-label="Table: ${escaped(name)}">${table}</div>\n`
