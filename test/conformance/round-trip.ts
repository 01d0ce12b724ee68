/**
 * How two pieces of HTML are compared for meaning, after `md-quality`: by their trees, with white space that a browser
 * collapses collapsed, attributes sorted and addresses decoded.
 */
import { createRequire } from 'node:module'
import { parseFragment, type DefaultTreeAdapterTypes } from 'parse5'

type Node = DefaultTreeAdapterTypes.Node

interface CommonMark {
  Parser: new () => { parse(markdown: string): unknown }
  HtmlRenderer: new (options?: { safe: boolean }) => { render(tree: unknown): string }
}

const { Parser, HtmlRenderer } = createRequire(import.meta.url)('commonmark') as CommonMark

/** Returns the HTML of Markdown, by the reference implementation of CommonMark; `safe` drops raw HTML in it. */
export const render = (markdown: string, safe = false): string =>
  new HtmlRenderer({ safe }).render(new Parser().parse(markdown))

const BLOCKS = new Set(
  `address article blockquote body dd details div dl dt fieldset figcaption figure form h1 h2 h3 h4 h5 h6 hr li main ol
  p pre section table tbody td tfoot th thead tr ul`.split(/\s+/),
)
const SAME = new Map([
  ['b', 'strong'],
  ['i', 'em'],
])

/** Marks where a block begins or ends; white space around it means nothing. */
const EDGE = '\u0001'

const escape = (text: string) => text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/"/g, '&quot;')

function decoded(url: string): string {
  try {
    return decodeURI(url)
  } catch {
    return url
  }
}

function serialize(node: Node, preformatted: boolean): string {
  let out = ''
  for (const child of 'childNodes' in node ? node.childNodes : []) {
    if (child.nodeName === '#text' && 'value' in child) {
      out += escape(preformatted ? child.value : child.value.replace(/[ \t\r\n]+/g, ' '))
    } else if ('tagName' in child) {
      const { tagName } = child
      const attributes = child.attrs
        .filter(({ name, value }) => !(name === 'start' && value === '1'))
        .map(({ name, value }) => ` ${name}="${escape(name === 'href' || name === 'src' ? decoded(value) : value)}"`)
      const tag = SAME.get(tagName) ?? tagName
      const outside = BLOCKS.has(tagName) ? EDGE : ''
      const inside = tagName === 'pre' ? '' : outside
      const contents = serialize(child, preformatted || tagName === 'pre')
      out += `${outside}<${tag}${attributes.sort().join('')}>${inside}${contents}${inside}</${tag}>${outside}`
    }
  }
  return out
}

/** HTML in a form in which equal text means equal contents. */
export function canonical(html: string): string {
  return serialize(parseFragment(html), false)
    .replace(new RegExp(`[ \\n]*${EDGE}[ \\n${EDGE}]*`, 'g'), '\n')
    .replace(/ *<br> */g, '<br>')
    .trim()
}
