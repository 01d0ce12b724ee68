import type { Tag } from './events.js'

/** Languages that are recognized in a class attribute without any prefix. */
const LANGUAGES = new Set(
  `asm bash bat c clojure cmake console cpp crystal csharp css cuda cypher dart diff django dockerfile elisp elixir elm
  emacs-lisp erb erlang fortran fsharp gherkin glsl go gradle graphql groovy haml handlebars haskell hcl html http ini java
  javascript jinja jinja2 js json json5 jsonc jsx julia kotlin kusto latex less lisp lua makefile markdown matlab mdx mermaid
  nginx nim nix objc objective-c objectivec ocaml pascal perl php plsql postgresql powershell prisma prolog promql properties
  protobuf puppet pycon python python3 r razor rego ruby rust sass scala scheme scss sh shell shell-session solidity sparql
  sql svelte swift tcl terraform toml ts tsx twig typescript vb vbnet verilog vhdl vim vue wasm wgsl xml yaml zig
  zsh`.split(/\s+/),
)

/** Short names, which are languages only after a prefix. */
const SHORT_NAMES = new Set('c++ cc cs docker golang hs kt md ps1 py rb rs tf yml'.split(' '))

/** Classes of highlighters that name the language in another class, also by its short name. */
const HIGHLIGHTERS = new Set(['brush:', 'hljs', 'prettyprint', 'sourceCode', 'highlight', 'syntaxhighlighter'])

/** Highlighters whose next class is a language, whatever its name. */
const NAMING = new Set(['hl', 'hljs', 'sourceCode', 'syntaxhighlighter'])

/** Prefixes of names that are languages, whatever they are. */
const CERTAIN = /^(?:mw-highlight-lang|language|lang|highlight-source)-(.+)$/

/** Form of the only class of a `pre` that is a language. */
const PLAIN_NAME =
  /^(?!(?:code|pre|codeblock|block|snippet|prettyprint|prism|shiki|screen|programlisting|listing|literal|verse|poem|lyrics|example|src|source|terminal|content|body|mono|monospace|box|wide|small|inline|quote|ascii|diagram|raw|preformatted|verbatim|message|mail|post)$)[a-z][a-z\d+#]{0,19}$/

/** Names that mean text without a language, and classes that highlighters add. */
const NO_LANGUAGE =
  /^(?:default|none|plain|plaintext|text|txt|nohighlight|no-highlight|number-?[sS]ource|number-?lines|line-?numbers?|linenums|no-?gutter|collapsed|notranslate|wrap|copy|copyable|printing|ie|hljs|sourceCode|highlight|code-overflow-\w+|notecard|position-\w+|overflow-\w+|switcher|select(?:or)?|picker|list|menu|tabs?)$/

/** Returns the program language that the element names, by `language-` as in HTML, or in the way of highlighters. */
export function languageOf(tag: Tag): string | undefined {
  const data = tag.attribute('data-lang') ?? tag.attribute('data-language') ?? tag.attribute('data-enlighter-language')
  if (data !== undefined && isInfo(data)) return data
  const named = tag.attribute('language')
  if (named !== undefined && isLanguage(named)) return named
  // Confluence names it as SyntaxHighlighter does, in an attribute.
  const classes = tag.attribute('data-syntaxhighlighter-params') ?? tag.attribute('class')
  return (classes === undefined ? undefined : languageIn(classes, tag.name)) ?? languageOfPre(tag)
}

/** Returns the program language that an element around a `pre` names. Names that are unknown may have other meanings. */
export function languageAround(tag: Tag): string | undefined {
  const language = languageOf(tag)
  if (language === undefined) return undefined
  const lower = language.toLowerCase()
  const isKnown = LANGUAGES.has(lower) || SHORT_NAMES.has(lower)
  return isKnown || tag.name === 'figure' || isCertain(tag.attribute('class') ?? '') ? language : undefined
}

/** Returns whether classes name a language by a prefix that has no other meaning around a program. */
const isCertain = (classes: string): boolean =>
  classes.split(/[\t\n\f\r ]+/).some((name) => CERTAIN.test(name)) ||
  /(?:^|\s)(?:notranslate|syntaxhighlighter|blob-wrapper)(?:\s|$)/.test(classes)

/** Returns the language that renderers of Markdown write as `<pre lang="ts">`. Other values are human languages. */
function languageOfPre(tag: Tag): string | undefined {
  const language = tag.name === 'pre' ? tag.attribute('lang') : undefined
  return language !== undefined && LANGUAGES.has(language.toLowerCase()) ? language : undefined
}

function languageIn(classes: string, element: string): string | undefined {
  let plain: string | undefined
  let isHighlighted = false
  let isNamed = false
  const names = classes.split(/[\t\n\f\r ]+/, MAX_CLASSES)
  // Pandoc names any language so.
  if (element === 'pre' && names.length === 1 && PLAIN_NAME.test(classes) && !NO_LANGUAGE.test(classes)) return classes
  for (const name of names) {
    const certain = CERTAIN.exec(name)?.[1]
    if (certain !== undefined && isInfo(certain)) {
      if (!NO_LANGUAGE.test(certain)) return certain
      continue
    }
    const named = /^(?:highlight|src|brush:|type)-?(.+)$/.exec(name)?.[1] ?? (isHighlighted ? name : '')
    const language = named.replace(/;$/, '')
    if (isLanguage(language)) return language
    if (isMarked(name, names) && isInfo(language) && !NO_LANGUAGE.test(language)) return language
    if (isNamed && plain === undefined && /^[a-z][\w+#.-]{0,30}$/i.test(name) && !NO_LANGUAGE.test(name)) plain = name
    if (LANGUAGES.has(name)) plain ??= name
    isHighlighted ||= HIGHLIGHTERS.has(name)
    isNamed = NAMING.has(name) || (element === 'figure' && name === 'highlight') || (isNamed && NO_LANGUAGE.test(name))
  }
  return plain
}

/** Returns whether a class names a language, whatever it is. Sphinx and GitHub mark the element around a program so. */
const isMarked = (name: string, names: readonly string[]): boolean =>
  (name.startsWith('highlight-') && names.includes('notranslate')) ||
  (name.startsWith('type-') && names.includes('blob-wrapper'))

/** Maximum number of classes that are read. */
const MAX_CLASSES = 32

function isLanguage(name: string): boolean {
  const lower = name.toLowerCase()
  return LANGUAGES.has(lower) || SHORT_NAMES.has(lower)
}

const LINE_NUMBERS =
  /^(?:linenos?|lineno-\w+|linenodiv|line-?numbers?|lnt|ln|blob-num|CodeMirror-(?:gutter-wrapper|linenumber))(?:\s|$)/

/** Returns whether the element holds line numbers that a highlighter adds, which are not part of the code. */
export function isLineNumber(tag: Tag): boolean {
  const first = tag.attributeFirst('class')
  if (first === LETTER_G) return tag.name === 'td' && tag.attribute('class') === 'gutter'
  if (first !== LETTER_B && first !== UPPER_C && first !== LETTER_L) return false
  return LINE_NUMBERS.test(tag.attribute('class') ?? '')
}

const UPPER_C = 0x43
const LETTER_B = 0x62
const LETTER_C = 0x63
const LETTER_L = 0x6c
const LETTER_G = 0x67
const LETTER_S = 0x73
const LETTER_V = 0x76

/**
 * Returns whether the element contains a program without any `pre`, with each line an element, as in CodeMirror and
 * Monaco. `first` is the first character of its class.
 */
export function isCodeView(tag: Tag, first: number): boolean {
  if ((first | 0x20) === LETTER_C)
    return tag.attributeStarts('class', 'cm-content') || tag.attributeStarts('class', 'codemirror-code')
  if (first === LETTER_S) return tag.attributeStarts('class', 'syntaxhighlighter')
  return first === LETTER_V && tag.attributeStarts('class', 'view-lines')
}

/** Returns whether a text can follow a fence. */
const isInfo = (text: string): boolean => /^[^\s`~]{1,40}$/.test(text)
