import { execFileSync } from 'node:child_process'
import t from 'tap'
import type { Tag } from '../../../pipelines/markdown/text/events.js'
import { pageScanner } from '../../../pipelines/markdown/html/page-scanner.js'
import {
  ATTRIBUTE_SIZE,
  ATTRIBUTE_TRAITS,
  ATTRIBUTES,
  FOREIGN,
  INPUT,
  MAX_ATTRIBUTES,
  MAX_TOKENS,
  RETURNS,
  STOP,
  TEXT_FROM,
  TEXT_TO,
  TEXT_TRAITS,
  TOKEN_SIZE,
  TOKENS,
  VALUE_DECODE,
  VALUE_ESCAPE,
  VALUE_FOREIGN,
  VALUE_NUL,
  VALUE_PARENTHESIS,
  VALUE_RETURN,
  VALUE_TITLE,
} from '../../../pipelines/markdown/scanner/layout.js'
import { SOURCES } from '../../../pipelines/markdown/scanner/module.js'
import {
  AMPERSAND,
  BLANK,
  INNER_SPACE,
  NUL,
  SPACE_AFTER,
  SPACE_BEFORE,
  SPECIALS,
} from '../../../pipelines/markdown/text/text-traits.js'
import { HtmlTokenizer } from '../../../pipelines/markdown/html/tokenizer.js'

const scanner = pageScanner()
const FIRST = TOKENS / 4

t.test('the module is made of its sources: npm run scanner', async (t) => {
  t.equal(execFileSync(process.execPath, ['packages/scanner.mjs', '--hash'], { encoding: 'utf8' }).trim(), SOURCES)
})

t.test('the tables are one after the other', async (t) => {
  t.ok(STOP + 12 <= TOKENS)
  t.ok(TOKENS + MAX_TOKENS * TOKEN_SIZE * 4 <= ATTRIBUTES)
  t.ok(ATTRIBUTES + MAX_ATTRIBUTES * ATTRIBUTE_SIZE * 4 <= INPUT)
})

const trimmed = (text: string) => text.replace(/^[\t\n\f\r ]+|[\t\n\f\r ]+$/g, '')

/** The traits of a text by plain patterns. */
function traitsOf(text: string): number {
  const bits: [number, boolean][] = [
    [SPECIALS, /[\\`*_~<&[\]]/.test(text)],
    [AMPERSAND, text.includes('&')],
    [NUL, text.includes('\0')],
    [FOREIGN, /[\u0080-\uffff]/.test(text)],
    [RETURNS, text.includes('\r')],
    [INNER_SPACE, / {2}|[\t\n\f\r]/.test(trimmed(text))],
    [SPACE_BEFORE, /^[\t\n\f\r ]/.test(text)],
    [SPACE_AFTER, /[\t\n\f\r ]$/.test(text)],
  ]
  return bits.reduce((all, [bit, isSet]) => (isSet ? all | bit : all), 0)
}

/** Parts that are put at each position of a text of up to three blocks of 16 characters. */
const PARTS = [
  ...'\\`*_~[]&\0\r\n\t\f +,-./:Zn{|}'.split(''),
  '  ',
  ' \n',
  '< ',
  '<',
  'é',
  '\u0126',
  '\u3c3c',
  '\u2000',
  '\ud83d\ude00',
]

t.test('a text has the same traits as by patterns, wherever its characters are', async (t) => {
  const wrong: string[] = []
  const check = (text: string, isBytes: boolean) => {
    scanner.fill(`${text}<b>`, isBytes)
    const count = scanner.scan(0, text.length + 3)
    const [from, to, traits] = [TEXT_FROM, TEXT_TO, TEXT_TRAITS].map((at) => scanner.table[FIRST + at])
    const inner = trimmed(text)
    const isRight =
      inner === ''
        ? from === to && traits === (BLANK | RETURNS)
        : from === text.indexOf(inner) && to === from + inner.length && traits === traitsOf(text)
    if (count !== 2 || !isRight) wrong.push(`${JSON.stringify(text)}: ${count} tokens, ${from} to ${to}, ${traits}`)
  }
  for (const part of PARTS)
    for (let before = 0; before < 18; before++)
      for (const after of ['', 'x', ' ', ' y', 'x'.repeat(20)]) {
        if (part.startsWith('<') && /^[a-z]/.test(part.slice(1) + after)) continue
        for (const lead of ['', ' ', '\n '])
          check(lead + 'x'.repeat(before) + part + after, part.charCodeAt(0) < 256 && before % 2 === 0)
      }
  t.strictSame(wrong.slice(0, 5), [])
})

t.test('the value of an attribute has the same traits as by patterns', async (t) => {
  const valueTraits = (value: string): number => {
    const bits: [number, RegExp][] = [
      [VALUE_DECODE, /&/],
      [VALUE_ESCAPE, /[^!-~]|[<>\\&]/],
      // oxlint-disable-next-line no-control-regex
      [VALUE_NUL, /\0/],
      [VALUE_RETURN, /\r/],
      [VALUE_FOREIGN, /[\u0080-\uffff]/],
      [VALUE_PARENTHESIS, /[()]/],
      [VALUE_TITLE, /[\\"&\r\n]/],
    ]
    return bits.reduce((all, [bit, pattern]) => (pattern.test(value) ? all | bit : all), 0)
  }
  const wrong: string[] = []
  for (const part of [...PARTS, '"', '(', ')', '>', '\u007f', '\u0001', '%', "'"])
    for (let before = 0; before < 18; before++)
      for (const quote of ['"', "'", '']) {
        const value = 'x'.repeat(before) + part + 'y'.repeat((before * 7) % 20)
        if (quote === '' ? /[\t\n\f\r >]/.test(value) || /^["']/.test(value) : value.includes(quote)) continue
        const tag = `<a b=${quote}${value}${quote}>`
        scanner.fill(tag, part.charCodeAt(0) < 256 && part.length === 1)
        const traits = scanner.scan(0, tag.length) === 1 && scanner.table[ATTRIBUTES / 4 + ATTRIBUTE_TRAITS]
        if (traits !== valueTraits(value)) wrong.push(`${JSON.stringify(tag)}: ${traits}`)
      }
  t.strictSame(wrong.slice(0, 5), [])
})

/** The attributes of each open tag, read in pieces of `size` characters. */
function tagsOf(html: string, size: number): Map<string, string>[] {
  const all: Map<string, string>[] = []
  const tokenizer = new HtmlTokenizer({
    open: (tag: Tag) => void all.push(tag.attributes()),
    close() {},
    text() {},
  })
  for (let at = 0; at < html.length; at += size) tokenizer.write(html.slice(at, at + size))
  tokenizer.end()
  return all
}

t.test('tags whose attributes do not fit together are read one after the other', async (t) => {
  const tag = (id: number, count: number) =>
    `<p id=${id}${Array.from({ length: count - 1 }, (_, at) => ` a${at}=${at}`).join('')}>`
  const counts = [1, 3000, 3000, 60, 4095, 1, 4096, 70, 4000, 96, 97, 4096]
  const html = counts.map((count, id) => tag(id, count)).join('x')
  for (const size of [html.length, 5000]) {
    const tags = tagsOf(html, size)
    t.strictSame(
      tags.map((each) => [each.get('id'), each.size]),
      counts.map((count, id) => [String(id), count]),
    )
  }
})

t.test('of a tag with very many attributes only the first are read', async (t) => {
  const many = Array.from({ length: MAX_ATTRIBUTES + 500 }, (_, at) => `a${at}`).join(' ')
  const tags = tagsOf(`<p><b ${many}><i c=d>`, 1000)
  t.strictSame(
    tags.map((each) => each.size),
    [0, MAX_ATTRIBUTES, 1],
  )
})

t.test('memory for a very long tag is given back', async (t) => {
  const before = scanner.table.buffer.byteLength
  const long = 'x'.repeat(1_500_000)
  t.ok(tagsOf(`<p title="${long}\u2026">`, 100_000)[0]?.get('title') === `${long}\u2026`)
  t.ok(scanner.table.buffer.byteLength > 3_000_000)
  t.equal(tagsOf('<p title=x>', 100)[0]?.get('title'), 'x')
  t.equal(scanner.table.buffer.byteLength, before)
})
