import t from 'tap'
import { parse } from 'yaml'
import { blocksOf } from '../../helpers/doc-blocks.js'
import { importText, type Kind } from '../../helpers/imported.js'

const PAGE = 'docs/cookbook.md'
const TITLE = 'Cookbook: what one does with Caddy or nginx'

type Zone = Readonly<Record<string, unknown>>
const zoneOf = (yaml: string): Zone => (parse(yaml) as { zones: Zone[] }).zones[0]!

/** Members that the recipes leave out. */
const LEFT_OUT = new Set(['id', 'account', 'name', 'hostnames', 'cache', 'settings'])
const shown = (zone: Zone): object =>
  Object.fromEntries(
    Object.entries(zone).filter(([key, value]) => !LEFT_OUT.has(key) && value !== 'http://127.0.0.1:9'),
  )

/** Returns the lines of a recipe as a whole file. */
function fileOf(kind: Kind, text: string): string {
  if (kind === 'caddy') return text.startsWith('example.com') ? text : `http://example.com {\n${text}\n}\n`
  return /^(server|upstream|limit_req_zone|proxy_cache_path) /m.test(text) && /^server \{/m.test(text)
    ? text
    : `server { server_name example.com;\n${text}\n}\n`
}

const blocks = blocksOf(PAGE).filter(({ heading }) => heading !== TITLE)
const recipes = [...new Set(blocks.map(({ heading }) => heading))]

t.test('there are thirty recipes', async (t) => {
  t.ok(recipes.length >= 30, `${recipes.length} recipes`)
})

for (const recipe of recipes)
  t.test(`recipe: ${recipe}`, async (t) => {
    const of = (language: string) =>
      blocks.find((block) => block.heading === recipe && block.language === language)?.text
    const yaml = of('yaml')
    t.ok(yaml, 'has lines for edged')
    const imported = (['caddy', 'nginx'] as const).flatMap((kind) => {
      const text = of(kind)
      return text === undefined ? [] : [importText(kind, fileOf(kind, text))]
    })
    t.ok(imported.length > 0, 'has lines of a peer')
    for (const { lines } of imported) t.strictSame(lines, [], 'everything is carried over')
    const wanted = JSON.stringify(shown(zoneOf(yaml ?? '')))
    t.ok(
      imported.some((one) => JSON.stringify(shown(zoneOf(one.yaml))) === wanted),
      'the lines for edged are what is imported',
    )
  })
