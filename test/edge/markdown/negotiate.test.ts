import fc from 'fast-check'
import t from 'tap'
import { askForHtml, wantsMarkdown } from '../../../src/edge/markdown/negotiate.js'
import { CODINGS, codingsToUndo } from '../../../src/edge/exchange/content-coding.js'

const LISTED: [accept: string | undefined, wanted: boolean][] = [
  [undefined, false],
  ['', false],
  ['*/*', false],
  ['text/*', false],
  ['text/html, */*', false],
  ['text/markdown', true],
  ['Text/MarkDown', true],
  ['text/markdown, text/html, */*', true],
  ['text/markdown, text/plain;q=0.9, */*;q=0.8', true],
  ['text/html, text/markdown;q=0.1', true],
  ['text/html,text/markdown', true],
  ['\ttext/markdown ;\tq=1.000 ', true],
  ['text/markdown;charset=utf-8', true],
  ['text/markdown; variant=GFM; q=0.4', true],
  ['text/markdown;variant="a,b\\"c";Q=0.3', true],
  ['text/markdown;variant=""', true],
  ['text/markdown;;q=0.5;', true],
  ['text/markdown;q=0', false],
  ['text/markdown;q=0.000', false],
  ['text/markdown;q=0, text/*, */*', false],
  ['text/markdown;q=0., */*', false],
  ['text/markdown;q=1.', true],
  ['text/markdown;q=0.001', true],
  ['text/markdown;q=0.0001', false],
  ['text/markdown;q=1.001', false],
  ['text/markdown;q=2', false],
  ['text/markdown;q=-1', false],
  ['text/markdown;q=.5', false],
  ['text/markdown;q="0.5"', false],
  ['text/markdown;q=', false],
  ['text/markdown;q', false],
  ['text/markdown;q = 0.5', false],
  ['text/markdown;q=0.5;q=0.6', false],
  ['text/markdown;charset', false],
  ['text/markdown;=utf-8', false],
  ['text/markdown charset=utf-8', false],
  ['text /markdown', false],
  ['text/ markdown', false],
  ['text/markdown\u00a0', false],
  ['text/markdown2', false],
  ['xtext/markdown', false],
  ['*/markdown', false],
  ['text/x-markdown', false],
  ['application/markdown', false],
  ['text/html;profile="text/markdown"', false],
  ['text/html;a=", text/markdown, "', false],
  ['text/html;a="\\", text/markdown"', false],
  ['text/html;a="unclosed, text/markdown', false],
  [', ,, broken/, text/markdown ,', true],
  ['text/html;q=x, text/markdown', true],
  ['text/markdown;q=0, text/markdown;variant=GFM', true],
]
for (const [accept, wanted] of LISTED) {
  t.test(`Accept: ${accept} ${wanted ? 'asks' : 'does not ask'} for Markdown`, async (t) => {
    t.equal(wantsMarkdown(accept), wanted)
  })
}

const PREFERRED: [accept: string, wanted: boolean][] = [
  ['text/markdown', true],
  ['text/markdown, text/html, */*', true],
  ['text/html, text/markdown', true],
  ['text/html, text/markdown;q=0.9', false],
  ['text/html;q=0.9, text/markdown;q=0.9', true],
  ['text/html;q=0.8, text/markdown;q=0.9', true],
  ['text/html;q=0.8;level=1, text/html;q=0.95, text/markdown;q=0.9', false],
  ['text/*, text/markdown;q=0.9', false],
  ['*/*, text/markdown;q=0.9', false],
  ['*/*, text/*;q=0.2, text/markdown;q=0.9', true],
  ['*/*, text/html;q=0, text/markdown;q=0.1', true],
  ['application/json, text/markdown;q=0.1', true],
  ['text/markdown;q=0', false],
]
for (const [accept, wanted] of PREFERRED) {
  t.test(`with preferred, Accept: ${accept} ${wanted ? 'asks' : 'does not ask'} for Markdown`, async (t) => {
    t.equal(wantsMarkdown(accept, 'preferred'), wanted)
  })
}

t.test('a header made of known members is read as its members say', async (t) => {
  const type = fc.constantFrom('text/markdown', 'TEXT/Markdown', 'text/html', 'text/*', '*/*', 'image/png', 'no slash')
  const weight = fc.constantFrom(undefined, '0', '0.2', '0.25', '0.7', '1', '1.0', '5', 'x')
  const parameter = fc.constantFrom('', ';charset=utf-8', '; a="x,y;q=0"', ' ; a="\\""', ';')
  const member = fc.record({ type, weight, before: parameter, after: parameter })
  const separator = fc.constantFrom(',', ', ', ' ,', ',,')

  /** Returns the quality of `name` in the members; undefined if none names it. */
  const quality = (list: { type: string; weight: string | undefined }[], name: string) =>
    list
      .filter((m) => m.type.toLowerCase() === name && m.weight !== 'x' && m.weight !== '5')
      .map((m) => Number(m.weight ?? 1))
      .reduce<number | undefined>((best, q) => Math.max(best ?? 0, q), undefined)

  fc.assert(
    fc.property(fc.array(member, { maxLength: 6 }), separator, (list, comma) => {
      const accept = list
        .map((m) => `${m.type}${m.before}${m.weight === undefined ? '' : `;q=${m.weight}`}${m.after}`)
        .join(comma)
      const markdown = quality(list, 'text/markdown') ?? 0
      const html = quality(list, 'text/html') ?? quality(list, 'text/*') ?? quality(list, '*/*') ?? 0
      t.equal(wantsMarkdown(accept, 'listed'), markdown > 0, accept)
      t.equal(wantsMarkdown(accept, 'preferred'), markdown > 0 && markdown >= html, accept)
    }),
    { numRuns: 500 },
  )
})

t.test('no text breaks the reading of Accept, and its time is linear', async (t) => {
  fc.assert(fc.property(fc.string(), (text) => typeof wantsMarkdown(`${text}markdown`) === 'boolean'))
  // Each of these would take minutes, were it read in quadratic time.
  for (const piece of ['"', ',', ';', ' ', '\\', 'a/b;', '"\\', '; ; ', 'a/a;b="', 'text/markdown;a='])
    t.equal(wantsMarkdown(piece.repeat(1_000_000) + 'markdown'), false, JSON.stringify(piece))
})

const asked = (headers: string[]) => {
  const pairs: Record<string, string> = {}
  const list = askForHtml(headers)
  for (let i = 0; i < list.length; i += 2) {
    t.notOk(list[i]!.toLowerCase() in pairs, 'no field twice')
    pairs[list[i]!.toLowerCase()] = list[i + 1]!
  }
  return pairs
}

t.test('the origin gets a request for the complete page, regardless of the part that the client has', async (t) => {
  const headers = ['Host', 'a.test', 'Accept', 'text/markdown', 'Cookie', 'a=b', 'X-Range', 'kept']
  for (const name of ['Range', 'if-range', 'If-None-Match', 'IF-MATCH', 'If-Modified-Since', 'If-Unmodified-Since'])
    headers.push(name, 'x')
  t.same(asked(headers), {
    host: 'a.test',
    cookie: 'a=b',
    'x-range': 'kept',
    accept: 'text/markdown, text/html',
    'accept-encoding': 'identity',
  })
})

const ACCEPTS: [client: string, origin: string][] = [
  ['text/markdown, text/html;q=0.9', 'text/markdown, text/html;q=0.9'],
  ['text/markdown, TEXT/HTML', 'text/markdown, TEXT/HTML'],
  ['text/markdown, */*', 'text/markdown, */*, text/html'],
  ['text/markdown;q=0.5, application/json', 'text/markdown;q=0.5, application/json, text/html;q=0.5'],
  ['text/markdown, text/html;q=0', 'text/markdown, text/html;q=0, text/html'],
]
for (const [client, origin] of ACCEPTS) {
  t.test(`with Accept: ${client} the origin is asked for ${origin}`, async (t) => {
    t.equal(asked(['Accept', client])['accept'], origin)
  })
}

const ENCODINGS: [client: string[], origin: string][] = [
  [[], 'identity'],
  [['gzip, deflate, br'], 'gzip, deflate, br'],
  [['GZIP;q=0.5, compress, identity;q=0, *'], 'GZIP;q=0.5, identity;q=0'],
  [['br', 'dcb, gzip'], 'br, gzip'],
  [['compress'], 'identity'],
]
for (const [client, origin] of ENCODINGS) {
  t.test(`a client that takes "${client.join('" and "')}" makes us ask for ${origin}`, async (t) => {
    const headers = client.flatMap((value) => ['Accept-Encoding', value])
    t.equal(asked(['Accept', 'text/markdown', ...headers])['accept-encoding'], origin)
  })
}

const CONTENT_ENCODINGS: [value: string, codings: string[] | undefined][] = [
  ['', []],
  ['identity', []],
  ['GZip', ['gzip']],
  ['x-gzip', ['x-gzip']],
  ['gzip, identity, br', ['br', 'gzip']],
  ['gzip, br, deflate', ['deflate', 'br', 'gzip']],
  ['gzip, gzip, gzip, gzip', undefined],
  ['compress', undefined],
  ['gzip, exi', undefined],
  [`${'identity,'.repeat(50)}br`, ['br']],
]
for (const [value, codings] of CONTENT_ENCODINGS) {
  t.test(`Content-Encoding: ${value.slice(0, 40)} is undone by ${codings?.join(', ') ?? 'nobody'}`, async (t) => {
    t.same(codingsToUndo(value), codings)
  })
}

t.test('every coding that is asked for can be undone', async (t) => {
  for (const [name, make] of CODINGS) {
    const decoder = make(new Uint8Array([0x78, 0x9c]))
    t.type(decoder.write, 'function', name)
    decoder.destroy()
  }
})
