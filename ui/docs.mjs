import { copyFileSync, cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { Marked } from 'marked'

/** Pages in the order of the navigation; all others follow by name. */
const ORDER = ['getting-started', 'front', 'configuration', 'api', 'rules', 'markdown', 'cache', 'logpush', 'pipelines']

const escaped = (text) => text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;')
const slug = (text) =>
  text
    .toLowerCase()
    .replaceAll(/[^a-z0-9 -]/g, '')
    .replaceAll(' ', '-')

/** Renders the Markdown pages of a folder to HTML files, with `guides.json`: their file names and titles. */
export function buildDocs({ from, to, style }) {
  rmSync(to, { recursive: true, force: true })
  mkdirSync(to, { recursive: true })
  const names = readdirSync(from)
  const pages = names
    .filter((name) => name.endsWith('.md'))
    .sort((a, b) => rank(a) - rank(b) || (a < b ? -1 : 1))
    .map((name) => page(name, readFileSync(join(from, name), 'utf8')))
  const guides = pages.map(({ file, title }) => [file, title])
  for (const each of pages) writeFileSync(join(to, each.file), shell(each, guides))
  writeFileSync(join(to, 'guides.json'), JSON.stringify(guides))
  copyFileSync(style, join(to, 'docs.css'))
  cpSync(join(from, 'receivers'), join(to, 'receivers'), { recursive: true })
  for (const name of names) if (['.svg', '.png'].includes(extname(name))) copyFileSync(join(from, name), join(to, name))
}

function rank(name) {
  const at = ORDER.indexOf(name.replace(/\.md$/, ''))
  return at < 0 ? ORDER.length : at
}

function page(name, text) {
  const title = /^# (.*)$/m.exec(text)?.[1] ?? name
  const marked = new Marked({
    gfm: true,
    renderer: {
      heading({ tokens, depth, text: plain }) {
        return `<h${depth} id="${escaped(slug(plain))}">${this.parser.parseInline(tokens)}</h${depth}>\n`
      },
      // Pages link each other as files of the repository.
      link({ href, tokens }) {
        const target = href.replace(/^([a-z-]+)\.md(#.*)?$/, '$1.html$2')
        return `<a href="${escaped(target)}">${this.parser.parseInline(tokens)}</a>`
      },
      // The package leaves the screenshots out.
      image({ href, title, text: alt }) {
        if (href.startsWith('screenshots/')) return ''
        return `<img src="${escaped(href)}" alt="${escaped(alt)}"${title ? ` title="${escaped(title)}"` : ''}>`
      },
      // Long lines scroll, with the keyboard too.
      code({ text: source, lang = '' }) {
        return `<pre tabindex="0"><code class="language-${escaped(lang)}">${escaped(source)}</code></pre>\n`
      },
    },
  })
  return { file: name.replace(/\.md$/, '.html'), title, body: marked.parse(text) }
}

const shell = ({ file, title, body }, guides) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>edged: ${escaped(title)}</title>
<link rel="stylesheet" href="docs.css">
</head>
<body>
<nav aria-label="Documentation">
<p><a href="./">API</a></p>
<ul>${guides.map(([to, name]) => `<li><a href="${to}"${to === file ? ' aria-current="page"' : ''}>${escaped(name)}</a></li>`).join('')}</ul>
</nav>
<main>
${body}
</main>
</body>
</html>
`
