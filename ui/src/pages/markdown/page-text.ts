const BYTES_PER_TOKEN = 4

/** About how many tokens a text has. */
export const tokensOf = (text: string): number => Math.ceil(new TextEncoder().encode(text).length / BYTES_PER_TOKEN)

const LOUD = 'script, style, link, iframe, object, embed, meta, base, template, noscript, video, audio, source'

/** Returns a page without anything that the policy of the dashboard would refuse: it would only fill the console. */
export function quietPage(html: string): string {
  const page = new DOMParser().parseFromString(html, 'text/html')
  for (const element of page.querySelectorAll(LOUD)) element.remove()
  for (const image of page.querySelectorAll('img, svg, picture')) image.replaceWith(image.getAttribute('alt') ?? '')
  for (const element of page.querySelectorAll('*'))
    for (const name of element.getAttributeNames())
      if (/^on|^style$|^src|^background$|^poster$/i.test(name)) element.removeAttribute(name)
  return page.documentElement.outerHTML
}

const BLOCKS = 'p, li, h1, h2, h3, h4, h5, h6, td, th, dt, dd, pre, blockquote, div, section, article, tr, br'

/** Returns the text of a page and that of its Markdown, by lines that can be compared. */
export function plainLines(html: string, markdown: string): { page: string; markdown: string } {
  const page = new DOMParser().parseFromString(html, 'text/html')
  for (const element of page.querySelectorAll(LOUD)) element.remove()
  for (const block of page.querySelectorAll(BLOCKS)) block.append('\n')
  return { page: linesOf(page.body.textContent), markdown: linesOf(withoutMarks(markdown)) }
}

const linesOf = (text: string): string =>
  text
    .split('\n')
    .map((line) => line.replaceAll(/\s+/g, ' ').trim())
    .filter((line) => line !== '')
    .join('\n')

/** Returns Markdown as plain text: link texts, without marks of headings, lists, emphasis and tables. */
const withoutMarks = (markdown: string): string =>
  markdown
    .replace(/^---\n[^]*?\n---\n/, '')
    .replaceAll(/!\[[^\]]*\]\([^)]*\)/g, '')
    .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1')
    .replaceAll(/^\s*(?:#{1,6}|[-*+]|\d+\.|>)\s+/gm, '')
    .replaceAll(/^\|?[\s:|-]+\|$/gm, '')
    .replaceAll(/ *\| */g, '\n')
    .replaceAll(/[*_`]{1,3}|\\(?=[^\w\s])/g, '')
