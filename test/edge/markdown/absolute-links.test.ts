import type { RequestListener } from 'node:http'
import t from 'tap'
import { site } from './site.js'

const page =
  (head: string): RequestListener =>
  (_, response) =>
    void response
      .writeHead(200, { 'content-type': 'text/html', 'cache-control': 'max-age=60' })
      .end(
        `<title>x</title>${head}<p><a href="b?x=1">B</a> <a href="/c">C</a> <a href="https://o.test/">O</a> <img src=../i.png alt=I> <a href="#d">D</a></p>`,
      )

const LINKS = (base: string) =>
  `[B](${base}b?x=1) [C](${new URL('/c', base).href}) [O](https://o.test/) ![I](${new URL('../i.png', base).href}) `

t.test('addresses are absolute if the zone asks for it', async (t) => {
  for (const [options, notice] of [
    [{ markdown: 'links: absolute' }, ''],
    [{ markdown: 'links: absolute', cache: 'everything' }, ''],
    [{ agents: 'hint: true' }, ''],
    [
      { agents: 'hint: true', markdown: 'llms_txt: front_page' },
      '> Index of all pages: [/llms.txt](http://example.test/llms.txt)\n\n',
    ],
  ] as const) {
    const { get } = await site(t, page(''), options)
    for (let i = 0; i < 2; i++)
      t.equal(
        (await get('/docs/a/page')).body.toString(),
        `${notice}${LINKS('http://example.test/docs/a/')}[D](http://example.test/docs/a/page#d)\n`,
        JSON.stringify(options),
      )
  }
  const { get } = await site(t, page('<base href="/base/">'), { markdown: 'links: absolute' })
  t.match((await get('/docs/page')).body.toString(), LINKS('http://example.test/base/'))
  const written = await site(t, page(''))
  t.match((await written.get('/docs/page')).body.toString(), '[B](b?x=1) [C](/c)')
})

t.test('the line to the index follows the frontmatter', async (t) => {
  const { get } = await site(t, page('<meta name=description content="About">'), {
    agents: 'hint: true',
    markdown: 'llms_txt: front_page',
  })
  t.match((await get('/page')).body.toString(), /^---\ndescription: About\n---\n\n> Index of all pages: .*\n\n\[B\]/)
})
