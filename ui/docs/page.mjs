import { Marked } from 'marked'
import { codeBlock } from './highlight.mjs'
import { escaped, heading, scrolling, slug, uniqueIds } from './html.mjs'

/** Renders a Markdown page. Returns its headings for the menu of the page, and its sections for the search. */
export function guide(name, source) {
  const title = /^# (.*)$/m.exec(source)?.[1] ?? name
  const unique = uniqueIds()
  const headings = []
  let last = title
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text }) {
        const id = unique(slug(text))
        const plain = textOf(tokens)
        last = plain
        headings.push({ depth, id, text: plain })
        return heading(depth, id, this.parser.parseInline(tokens), plain)
      },
      // Pages link each other as files of the repository.
      link({ href, tokens }) {
        const target = href.replace(/^([a-z-]+)\.md(#.*)?$/, '$1.html$2')
        const label = this.parser.parseInline(tokens)
        // The site has the pages of `docs` only, not the other files of the repository.
        return target.startsWith('../') ? label : `<a href="${escaped(target)}">${label}</a>`
      },
      // The package leaves the screenshots out.
      image({ href, title: hint, text: alt }) {
        if (href.startsWith('screenshots/')) return ''
        return `<img src="${escaped(href)}" alt="${escaped(alt)}"${hint ? ` title="${escaped(hint)}"` : ''}>`
      },
      code({ text, lang = '' }) {
        return codeBlock(text, lang)
      },
      table({ header, rows }) {
        const cells = (row, tag) =>
          row.map(({ tokens }) => `<${tag}>${this.parser.parseInline(tokens)}</${tag}>`).join('')
        const body = rows.map((row) => `<tr>${cells(row, 'td')}</tr>`).join('\n')
        return scrolling(`<table><thead><tr>${cells(header, 'th')}</tr></thead><tbody>${body}</tbody></table>`, last)
      },
    },
  })
  const tokens = marked.lexer(source)
  const html = marked.parser(tokens)
  return { name, file: `${name}.html`, title, html, headings, sections: sectionsOf(tokens, headings) }
}

/** Returns the text of each section, by the id of its heading. */
function sectionsOf(tokens, headings) {
  const sections = []
  for (const each of tokens) {
    if (each.type === 'heading') sections.push({ ...headings[sections.length], body: [] })
    else sections.at(-1)?.body.push(textOf([each]))
  }
  return sections.map(({ id, text, depth, body }) => ({
    id: depth === 1 ? '' : id,
    title: text,
    text: body.join(' ').replaceAll(/\s+/g, ' ').trim(),
  }))
}

/** Returns the text of tokens without marks. Rows of tables and items of lists are separated by spaces. */
function textOf(tokens) {
  return tokens
    .map((token) => {
      if (token.type === 'html' || token.type === 'image') return ''
      if (token.type === 'table')
        return [token.header, ...token.rows].map((row) => row.map((cell) => textOf(cell.tokens)).join(' ')).join(' ')
      if (token.type === 'list') return token.items.map((item) => textOf(item.tokens)).join(' ')
      if (token.tokens) return textOf(token.tokens)
      return unescaped(token.text ?? ' ')
    })
    .join('')
}

const unescaped = (text) =>
  text.replaceAll(
    /&(amp|lt|gt|quot|#39);/g,
    (_entity, name) => ({ amp: '&', lt: '<', gt: '>', quot: '"', '#39': "'" })[name],
  )
