/**
 * `npm run conformance -- SUITE [FILE]`: runs a data file against the product's own code. Each failure is printed with
 * what was expected and what came; the last line counts both. Exit 1 on any failure, 2 when the suite is not known.
 */
import { fileURLToPath } from 'node:url'
import { inspect, isDeepStrictEqual } from 'node:util'
import { commonmark } from './commonmark.js'
import { filter } from './filter.js'
import { html5lib } from './html5lib.js'
import type { Case, Suite } from './suite.js'
import { ssrf } from './ssrf.js'
import { template } from './template.js'

const SUITES: readonly Suite[] = [commonmark, filter, html5lib, ssrf, template]

const print = (value: unknown) => inspect(value, { depth: Infinity, maxStringLength: 2000, breakLength: 110 })

async function outcome({ expected, got }: Case): Promise<string | undefined> {
  try {
    const value = await got()
    return isDeepStrictEqual(value, expected) ? undefined : print(value)
  } catch (error) {
    return `thrown: ${print(error)}`
  }
}

async function run(suite: Suite, file: string): Promise<number> {
  let passed = 0
  let failed = 0
  for (const item of await suite.cases(file)) {
    const wrong = await outcome(item)
    if (wrong === undefined) passed++
    else {
      failed++
      console.log(`FAILED ${item.name}\n  expected ${print(item.expected)}\n  got      ${wrong}`)
    }
  }
  console.log(`${passed} passed, ${failed} failed`)
  return failed > 0 ? 1 : 0
}

const [name, file] = process.argv.slice(2)
const suite = SUITES.find((candidate) => candidate.name === name)
if (suite === undefined) {
  console.error(`no suite ${name ?? 'was named'}; there are: ${SUITES.map((each) => each.name).join(', ')}`)
  process.exitCode = 2
} else {
  const fixture = fileURLToPath(new URL(`../fixtures/${suite.fixture ?? ''}`, import.meta.url))
  process.exitCode = await run(suite, file ?? fixture)
}
