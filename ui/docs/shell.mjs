import { escaped } from './html.mjs'

const LOGO =
  '<svg class="logo" viewBox="0 0 32 32" width="24" height="24" aria-hidden="true"><rect width="32" height="32" rx="7"/>' +
  '<path d="M20 8H9v16h11M9 16h19m-4-4 4 4-4 4" fill="none" stroke-width="3" stroke-linecap="round" stroke-linejoin="round"/></svg>'

const icon = (name, path) =>
  `<svg class="icon ${name}" viewBox="0 0 24 24" width="18" height="18" aria-hidden="true" fill="none" stroke-width="2" ` +
  `stroke-linecap="round" stroke-linejoin="round">${path}</svg>`
const MENU = icon('bars', '<path d="M4 6h16M4 12h16M4 18h16"/>')
const FIND = icon('find', '<circle cx="11" cy="11" r="7"/><path d="m20 20-4-4"/>')
const SUN = icon(
  'sun',
  '<circle cx="12" cy="12" r="4"/><path d="M12 2v2m0 16v2M2 12h2m16 0h2M5 5l1.4 1.4m11.2 11.2L19 19M19 5l-1.4 1.4M6.4 17.6 5 19"/>',
)
const MOON = icon('moon', '<path d="M20 14.5A8 8 0 1 1 9.5 4 6.5 6.5 0 0 0 20 14.5Z"/>')
const SYSTEM = icon('system', '<rect x="3" y="4" width="18" height="12" rx="2"/><path d="M8 20h8m-4-4v4"/>')

/** A button that opens the search. It looks like the field of the search. */
export const searchButton = (className, text = 'Search the documentation') =>
  `<button type="button" class="search-open ${className}" data-search>${FIND}<span>${text}</span><kbd>/</kbd></button>`

/** Renders a whole page. `headings` are the entries of "On this page". */
export function shell({ file, title, html, headings = [], className = '' }, menu) {
  const aside = headings.filter(({ depth }) => depth === 2 || depth === 3)
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escaped(title)} · edged</title>
<link rel="icon" href="/docs/logo.svg" type="image/svg+xml">
<link rel="stylesheet" href="/docs/docs.css">
<script src="/docs/early.js"></script>
<script type="module" src="/docs/main.js"></script>
</head>
<body class="${className}">
<a class="skip" href="#page-content">Skip to the content</a>
<header>
<button type="button" class="square menu-open" aria-label="Menu" aria-expanded="false" aria-controls="menu">${MENU}</button>
<a class="brand" href="/docs/" aria-label="edged docs">${LOGO}<span>edged</span> <span class="soft">docs</span></a>
${searchButton('head', 'Search')}
<a class="dashboard" href="/ui/">Dashboard</a>
<button type="button" class="square theme" aria-label="Theme: system">${SUN}${MOON}${SYSTEM}</button>
</header>
<nav id="menu" aria-label="Documentation" tabindex="-1">
${menu.map((group) => menuGroup(group, file)).join('\n')}
</nav>
<main id="page-content" tabindex="-1">
${html}
</main>
${aside.length > 1 ? onThisPage(aside) : ''}
</body>
</html>
`
}

const menuGroup = ({ title, items }, current) =>
  `<div role="group" aria-label="${escaped(title)}"><p>${escaped(title)}</p>\n<ul>${items
    .map(
      ({ file, title: name }) =>
        `<li><a href="/docs/${file}"${file === current ? ' aria-current="page"' : ''}>${escaped(name)}</a></li>`,
    )
    .join('\n')}</ul></div>`

const onThisPage = (headings) =>
  `<aside aria-label="On this page"><nav aria-label="On this page" tabindex="0"><p>On this page</p>\n<ul>${headings
    .map(({ id, text, depth }) => `<li class="depth-${depth}"><a href="#${escaped(id)}">${escaped(text)}</a></li>`)
    .join('\n')}</ul></nav></aside>`
