import type { Tag } from './events.js'

/** Languages that are recognized in a class attribute without any prefix. */
const LANGUAGES = new Set(
  `bash c clojure cpp csharp css dart diff dockerfile elixir erlang fortran go graphql groovy haskell html http ini java
  javascript js json jsx julia kotlin latex lisp lua makefile markdown matlab nginx objc ocaml pascal perl php
  powershell prolog protobuf python python3 r ruby rust scala scheme scss sh shell sql swift toml ts tsx typescript vb
  vim xml yaml zsh`.split(/\s+/),
)

/** Short names, which are languages only after a prefix. */
const SHORT_NAMES = new Set('c++ cc cs docker golang kt md ps1 py rb rs yml'.split(' '))

/** Returns the program language that the element names: by `language-`, as in HTML, or as highlighters do. */
export function languageOf(tag: Tag): string | undefined {
  const data = tag.attribute('data-lang') ?? tag.attribute('data-language')
  if (data !== undefined && isInfo(data)) return data
  const classes = tag.attribute('class')
  return (classes === undefined ? undefined : languageIn(classes)) ?? languageOfPre(tag)
}

/** Returns the language that renderers of Markdown write as `<pre lang="ts">`. Other values are human languages. */
function languageOfPre(tag: Tag): string | undefined {
  const language = tag.name === 'pre' ? tag.attribute('lang') : undefined
  return language !== undefined && LANGUAGES.has(language.toLowerCase()) ? language : undefined
}

function languageIn(classes: string): string | undefined {
  let plain: string | undefined
  let brush = false
  for (const name of classes.split(/[\t\n\f\r ]+/)) {
    const named =
      /^(?:language|lang|highlight-source|highlight|src|brush:)-?(.+)$/.exec(name)?.[1] ?? (brush ? name : '')
    brush = name === 'brush:'
    if (name.startsWith('language-') && isInfo(named)) return named
    const language = named.replace(/;$/, '')
    const lower = language.toLowerCase()
    if (LANGUAGES.has(lower) || SHORT_NAMES.has(lower)) return language
    if (LANGUAGES.has(name)) plain ??= name
  }
  return plain
}

const LINE_NUMBERS = /^(?:linenos?|lineno-\w+|linenodiv|line-?numbers?|lnt|ln)(?:\s|$)/

/** Returns whether the element holds line numbers that a highlighter adds, which are not part of the code. */
export const isLineNumber = (tag: Tag): boolean =>
  tag.attributeStarts('class', 'l') && LINE_NUMBERS.test(tag.attribute('class') ?? '')

/** Returns whether a text can follow a fence. */
const isInfo = (text: string): boolean => /^[^\s`~]{1,40}$/.test(text)
