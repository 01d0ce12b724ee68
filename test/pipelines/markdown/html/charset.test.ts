import fc from 'fast-check'
import t from 'tap'
import { CharsetDecoder } from '../../../../pipelines/markdown/html/charset.js'
import { NotConvertible } from '../../../../pipelines/markdown/text/not-convertible.js'

type Options = ConstructorParameters<typeof CharsetDecoder>[0]

function read(pieces: Iterable<Uint8Array>, options?: Options): string {
  const decoder = new CharsetDecoder(options)
  let text = ''
  for (const piece of pieces) text += decoder.write(piece)
  return text + decoder.end()
}
const latin1 = (text: string) => Buffer.from(text, 'latin1')

/** The bytes at the end of each page: ä€ in windows-1252, дЂ in windows-1251, Д─ in koi8-r, malformed in UTF-8. */
const AE = '\xe4\x80'
const SOURCES: [what: string, start: string, options: Options, end: string][] = [
  ['nothing says', '', {}, 'ä€'],
  ['the header says', '', { charset: 'ISO-8859-1' }, 'ä€'],
  ['the header says what no encoding is', '<meta charset=windows-1251>', { charset: 'utf-7' }, 'дЂ'],
  ['the header and a meta say', '<meta charset=windows-1251>', { charset: 'latin1' }, 'ä€'],
  ['a mark and the header say', '\xef\xbb\xbf', { charset: 'latin1' }, '\ufffd'],
  ['a meta says', '<p><META a CharSet = "windows-1251">', {}, 'дЂ'],
  ['a meta in a script says', '<script>"<meta charset=windows-1251>"', {}, 'дЂ'],
  ['a meta in a comment says', '<!-- <meta charset=windows-1251> -->', {}, 'ä€'],
  ['a meta after an empty comment says', '<!--><meta charset=windows-1251>', {}, 'дЂ'],
  ['a http-equiv says', '<meta content="a; charset=koi8-r" http-equiv=Content-Type>', {}, 'Д─'],
  ['a content without http-equiv says', '<meta content="a; charset=koi8-r">', {}, 'ä€'],
  ['a second meta says', '<meta charset=nosuch><meta charset=windows-1251>', {}, 'дЂ'],
  ['a meta says UTF-16, which it cannot be', '<meta charset=utf-16>', {}, '\ufffd'],
  ['a meta says x-user-defined', '<meta charset=x-user-defined>', {}, 'ä€'],
  ['a meta says late', `${' '.repeat(1024)}<meta charset=windows-1251>`, {}, 'дЂ'],
  ['a meta in a late comment says', `${' '.repeat(1010)}<!-- <meta charset=windows-1251> -->`, {}, 'ä€'],
  ['a meta says too late', `${' '.repeat(65_536)}<meta charset=windows-1251>`, {}, 'ä€'],
  ['an XML declaration says', '<?xml version="1.0" encoding="windows-1251"?>', { xml: true }, 'дЂ'],
  ['an XML declaration says in HTML', '<?xml version="1.0" encoding="windows-1251"?>', {}, 'дЂ'],
  ['a meta says in XML', '<meta charset="windows-1251"/>', { xml: true }, '\ufffd'],
]
for (const [what, start, options, end] of SOURCES) {
  t.test(`the encoding if ${what}`, async (t) => {
    const bytes = latin1(start + AE)
    t.equal(read([bytes], options).slice(-end.length), end)
    t.equal(
      read(
        Array.from(bytes, (byte) => Uint8Array.of(byte)),
        options,
      ).slice(-end.length),
      end,
      'byte by byte',
    )
  })
}

t.test('a byte order mark is not text', async (t) => {
  t.equal(read([latin1('\xef\xbb\xbfa')], { charset: 'latin1' }), 'a')
  t.equal(read([latin1('\xff\xfea\0')]), 'a')
  t.equal(read([latin1('\xfe\xff\0a')]), 'a')
  t.equal(read([latin1('<\0?\0x\0m\0l\0')], { xml: true }), '<?xml')
})

/** Differences between the WHATWG tables and ICU, or Node's own shortcut. */
const BYTES: [encoding: string, bytes: string, text: string][] = [
  ['windows-1252', '\x80\x81\x99\x9f', '€\x81™Ÿ'],
  ['us-ascii', '\x80', '€'],
  ['iso-8859-9', '\x80\xfd', '€ı'],
  ['iso-8859-15', '\x80\xa4', '\x80€'],
  ['iso-8859-16', '\x80\xa4\xaa\xff', '\x80€Șÿ'],
  ['x-user-defined', 'a\x80\xff', 'a\uf780\uf7ff'],
  ['koi8-u', '\xae\xbe', 'ўЎ'],
  ['windows-874', '\xdb\xfc\xfb', '\ufffd\ufffd๛'],
  ['windows-1253', '\xaa\xe1', '\ufffdα'],
  ['windows-1255', '\xca\xd9', '\u05ba\ufffd'],
  ['macintosh', '\xdb\xf0', '€\uf8ff'],
  ['shift_jis', '\x82\xa0', 'あ'],
  ['gb2312', '\xc4\xe3', '你'],
  ['euc-kr', '\xb0\xa1', '가'],
  ['big5', '\xa7\x41', '你'],
]
for (const [charset, bytes, text] of BYTES) {
  t.test(`${charset} is read as browsers read it`, async (t) => t.equal(read([latin1(bytes)], { charset }), text))
}

const PADDING = ' '.repeat(1024)
const UNDECLARED: [what: string, bytes: Uint8Array, text: string][] = [
  ['UTF-8', new Uint8Array(Buffer.from('<p>café €')), '<p>café €'],
  [
    'UTF-8 that says otherwise late',
    Buffer.from(`${PADDING}<meta charset=koi8-r>é`),
    `${PADDING}<meta charset=koi8-r>é`,
  ],
  ['windows-1252', latin1('<p>caf\xe9 \x80'), '<p>café €'],
  ['a legacy page whose first such byte is far behind', latin1(`${'a'.repeat(5000)}\xe9 b`), `${'a'.repeat(5000)}é b`],
  [
    'UTF-8 that is malformed later',
    Buffer.concat([Buffer.from('é'.repeat(600)), latin1('\xff')]),
    `${'é'.repeat(600)}\ufffd`,
  ],
  ['UTF-8 that ends within a character', Buffer.from('é€').subarray(0, 4), 'é\ufffd'],
]
for (const [what, bytes, text] of UNDECLARED) {
  t.test(`the encoding of a page that declares none is guessed: ${what}`, async (t) => {
    t.equal(read([bytes]), text)
    t.equal(read(Array.from(bytes, (byte) => Uint8Array.of(byte))), text, 'byte by byte')
  })
}

t.test('an XHTML page that declares no encoding is UTF-8', async (t) => {
  t.equal(read([latin1('<p>\xe9</p>')], { xml: true }), '<p>\ufffd</p>')
})

t.test('an encoding that browsers reject is not convertible', async (t) => {
  t.throws(() => read([], { charset: 'ISO-2022-KR' }), NotConvertible)
  t.throws(() => read([latin1('<meta charset=hz-gb-2312>')]), NotConvertible)
})

t.test('decoding does not depend on how bytes are cut', async () => {
  const bytes = fc.uint8Array({ maxLength: 60 })
  const text = fc.string({ unit: 'binary', maxLength: 30 }).map((value) => new Uint8Array(Buffer.from(value)))
  const charset = fc.constantFrom(undefined, 'utf-8', 'windows-1252', 'shift_jis', 'utf-16le')
  fc.assert(
    fc.property(fc.oneof(bytes, text), charset, fc.integer({ min: 1, max: 7 }), (all, charset, size) => {
      const pieces = Array.from({ length: Math.ceil(all.length / size) }, (_, at) =>
        all.subarray(at * size, at * size + size),
      )
      return read(pieces, { charset }) === read([all], { charset })
    }),
    { numRuns: 2000 },
  )
})

t.test('UTF-8 is read as TextDecoder reads it, malformed or not', async () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(0x41, 0x80, 0xa0, 0xbf, 0xc2, 0xe0, 0xed, 0xef, 0xf0, 0xf4, 0xf5), { maxLength: 12 }),
      (all) => {
        const bytes = Uint8Array.from(all)
        return (
          read(
            Array.from(bytes, (byte) => Uint8Array.of(byte)),
            { charset: 'utf-8' },
          ) === new TextDecoder().decode(bytes)
        )
      },
    ),
    { numRuns: 3000 },
  )
})
