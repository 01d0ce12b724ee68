/**
 * `npm run conformance -- SUITE [FILE]`: runs a data file against the product's own code. Each failure is printed with
 * what was expected and what came; the last line counts both. Exit 1 on any failure, 2 when the suite is not known. A
 * suite of another project that is not installed is skipped with a line that says how to get it.
 */
import { existsSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { cache } from './cache.js'
import { commonmark } from './commonmark.js'
import { filter } from './filter.js'
import { html5lib } from './html5lib.js'
import { runSuite, type Suite } from './suite.js'
import { ssrf } from './ssrf.js'
import { template } from './template.js'
import { webBotAuth } from './web-bot-auth.js'

const SUITES: readonly Suite[] = [cache, commonmark, filter, html5lib, ssrf, template, webBotAuth]

const [name, file] = process.argv.slice(2)
const suite = SUITES.find((candidate) => candidate.name === name)
if (suite === undefined) {
  console.error(`no suite ${name ?? 'was named'}; there are: ${SUITES.map((each) => each.name).join(', ')}`)
  process.exitCode = 2
} else {
  const fixture = fileURLToPath(new URL(`../fixtures/${suite.fixture ?? ''}`, import.meta.url))
  const path = file ?? (suite.folder ? suite.folder() : fixture)
  if (suite.folder && (path === undefined || !existsSync(path))) console.log(`${suite.name}: skipped; ${suite.missing}`)
  else {
    const { failed } = await runSuite(suite, path ?? fixture, console.log)
    process.exitCode = failed > 0 ? 1 : 0
  }
}
