import { createCssVariablesTheme, createHighlighter } from 'shiki'
import { escaped } from './html.mjs'

/** Languages of blocks that have a grammar, by the name in the Markdown source. Other blocks have no colours. */
const GRAMMARS = {
  sh: 'bash',
  bash: 'bash',
  yaml: 'yaml',
  json: 'json',
  js: 'javascript',
  ts: 'typescript',
  html: 'html',
  sql: 'sql',
  nginx: 'nginx',
  caddy: 'nginx',
}

const theme = createCssVariablesTheme({ name: 'classes', variablePrefix: '--' })
const highlighter = await createHighlighter({ langs: [...new Set(Object.values(GRAMMARS))], themes: [theme] })

/** Renders a block of code. Colours are classes such as `t-string`, because the policy of the pages forbids inline styles. */
export function codeBlock(source, language = '') {
  const lang = GRAMMARS[language]
  const html = lang
    ? highlighter.codeToTokensBase(source, { lang, theme: 'classes' }).map(line).join('\n')
    : escaped(source)
  return `<div class="code"><pre tabindex="0"><code class="language-${escaped(language)}">${html}\n</code></pre></div>\n`
}

const line = (tokens) => tokens.map(token).join('')

function token({ content, color }) {
  const [, name] = /^var\(--token-([a-z-]+)\)$/.exec(color ?? '') ?? []
  return name === undefined ? escaped(content) : `<span class="t-${name}">${escaped(content)}</span>`
}
