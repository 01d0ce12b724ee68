// Formats of lines: CPU us per line to the scanned record, beside JSON with the same fields. One process, in turn.
//
//   npm run bench -- formats [--rounds 5] [--lines 50000]
import { Output, scannerOf, storedDataset } from '../../dist/pipelines/records/index.js'
import { lineFormat } from '../../dist/pipelines/records/text/index.js'
import { cpuSeconds, median, sized, table } from './measure.mjs'

const option = (name, fallback) => Number(process.argv[process.argv.indexOf(name) + 1] || fallback)
const ROUNDS = process.argv.includes('--rounds') ? option('--rounds') : sized(5, 1)
const LINES = process.argv.includes('--lines') ? option('--lines') : sized(50_000, 1000)

const any = storedDataset('any')
const scanner = scannerOf(any)
const agent = 'Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/131.0.0.0 Safari/537.36'
const ACCESS = Array.from({ length: 100 }, (_, n) => {
  const second = String(n % 60).padStart(2, '0')
  return `203.0.113.${n} - - [21/Nov/2026:13:00:${second} +0000] "GET /products/${n}/reviews?page=2 HTTP/1.1" 200 18${n} "https://www.example.com/products/${n}" "${agent}"`
})
const LOGFMT = ACCESS.map(
  (_, n) =>
    `time=2026-11-21T13:00:00Z level=info msg="request served" method=GET path=/products/${n}/reviews status=200 bytes=18${n} duration=12.5ms addr=203.0.113.${n} referer=https://www.example.com/products/${n} agent="${agent}"`,
)
const CLASSES =
  '^(?<addr>[^ ]+) [^ ]+ (?<user>[^ ]+) \\[(?<time>[^\\]]+)\\] "(?<request>[^"]*)" (?<status>\\d+) (?<bytes>\\d+) "(?<referer>[^"]*)" "(?<agent>[^"]*)"$'
const LAZY =
  '^(?<addr>.*?) .*? (?<user>.*?) \\[(?<time>.*?)\\] "(?<request>.*?)" (?<status>\\d+) (?<bytes>\\d+) "(?<referer>.*?)" "(?<agent>.*?)"$'

/** Returns the JSON texts of lines. */
function asJson(format, lines) {
  const output = new Output()
  return lines.map((text) => {
    const bytes = Buffer.from(text)
    output.length = 0
    lineFormat(format, any).write(bytes, 0, bytes.length, output)
    return Buffer.from(output.bytes.subarray(0, output.length)).toString()
  })
}

/** Returns what reads all lines once, from one block of memory. */
function reader(format, lines) {
  const block = Buffer.from(lines.join('\n'))
  const lengths = lines.map((line) => Buffer.byteLength(line))
  const read = lineFormat(format, any)
  const output = new Output()
  return () => {
    for (let line = 0, at = 0; line < LINES; line++) {
      if (line % lines.length === 0) at = 0
      const end = at + lengths[line % lines.length]
      if (read === undefined) scanner.scan(block, at, end)
      else {
        output.length = 0
        read.write(block, at, end, output)
        scanner.scan(output.bytes, 0, output.length)
      }
      at = end + 1
    }
  }
}

const accessJson = asJson('combined', ACCESS)
const ROWS = [
  ['json, fields of combined', 'json', accessJson],
  ['text', 'text', ACCESS],
  ['combined', 'combined', ACCESS],
  ['regex of classes', { regex: CLASSES }, ACCESS],
  ['regex with .*?', { regex: LAZY }, ACCESS],
  ['json, fields of logfmt', 'json', asJson('logfmt', LOGFMT)],
  ['logfmt', 'logfmt', LOGFMT],
].map(([name, format, lines]) => ({ name, run: reader(format, lines), times: [] }))

for (let round = 0; round <= ROUNDS; round++)
  for (const { run, times } of ROWS) {
    const used = await cpuSeconds(run)
    // The first round compiles the code.
    if (round > 0) times.push((used / LINES) * 1e6)
  }

const usOf = (index) => median(ROWS[index].times)
console.log(
  `${ACCESS[10].length} bytes per access line, ${accessJson[10].length} as JSON; ${LINES} lines, ${ROUNDS} rounds`,
)
table(
  ROWS.map(({ name }, index) => ({
    format: name,
    'us per line': usOf(index).toFixed(2),
    'x JSON': (usOf(index) / usOf(index < 5 ? 0 : 5)).toFixed(1),
  })),
)
