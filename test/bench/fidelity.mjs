// npm run bench -- fidelity [--short]: Markdown against the documents that pages were rendered from, and the main content
// against texts that people marked. Pages and scorers are not part of the repository: EDGED_FIDELITY names a folder with
// corpus/ (fidelity, defuddle, aeb, wcxb) and tools/ (fidelity, wcxb). Exits with 1 if a score is below its floor. The short
// form scores the pages of two generators and the defuddle set, without other converters.
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { fileURLToPath } from 'node:url'

const isShort = process.env.EDGED_BENCH_SHORT === '1'
const given = process.env.EDGED_FIDELITY
if (given === undefined || !existsSync(join(given, 'tools/fidelity/score.mjs'))) {
  console.log('skipped: EDGED_FIDELITY names no folder with the pages and scorers')
  process.exit(0)
}
const folder = resolve(given)
const library = fileURLToPath(new URL('../../dist/pipelines/markdown/index.js', import.meta.url))

/** Scores that this version holds. A lower score is a regression. */
const FLOORS = {
  'page total': 98.5,
  'main total': 97.3,
  'words F1': 0.955,
  'aeb F1': 0.969,
  'WCXB main F1': 0.891,
  'WCXB page recall': 0.98,
}

/** Returns the numbers in the row of a table, of which the first is the number of pages or facts. */
const row = (output, name) =>
  new RegExp(`^${name}\\s+(.*)$`, 'm').exec(output)?.[1].trim().split(/\s+/).map(Number) ?? []

const after = (output, name) => Number(new RegExp(`${name} ([\\d.]+)`).exec(output)?.[1])

const work = mkdtempSync(join(tmpdir(), 'edged-fidelity-'))
try {
  cpSync(join(folder, 'tools/fidelity'), work, { recursive: true })
  npmInstall(work)
  const found = isShort ? scoreShort() : scoreAll()
  let isBelow = false
  for (const [name, value] of Object.entries(found)) {
    const floor = FLOORS[name]
    const isLow = !(value >= floor)
    isBelow ||= isLow
    console.log(`${isLow ? 'BELOW' : 'ok   '} ${name} ${value} (floor ${floor})`)
  }
  process.exitCode = isBelow ? 1 : 0
} finally {
  rmSync(work, { recursive: true, force: true })
}

function npmInstall(cwd) {
  execFileSync('npm', ['install', '--no-audit', '--no-fund', '--silent'], {
    cwd,
    stdio: ['ignore', 'ignore', 'inherit'],
  })
}

function run(script, ...options) {
  const output = execFileSync(process.execPath, [script, ...options], {
    cwd: work,
    encoding: 'utf8',
    maxBuffer: 2 ** 26,
  })
  console.log(output.trimEnd())
  return output
}

function score(...options) {
  return run('score.mjs', '--module', library, '--corpus', join(folder, 'corpus/fidelity'), ...options)
}

function scoreDefuddle() {
  const output = run('defuddle.mjs', '--module', library, '--corpus', join(folder, 'corpus/defuddle'))
  return { 'words F1': after(output, 'words F1') }
}

function scoreShort() {
  for (const generator of ['markdown-it', 'pandoc-webtex']) score('--both', '--only', generator)
  return scoreDefuddle()
}

function scoreAll() {
  npmInstall(join(work, 'peers'))
  const scores = score('--both', '--peers')
  const found = {
    'page total': after(scores, 'page fidelity'),
    'main total': after(scores, 'main fidelity'),
    ...scoreDefuddle(),
  }
  const aeb = run('aeb.mjs', '--module', library, '--corpus', join(folder, 'corpus/aeb'))
  found['aeb F1'] = after(aeb, 'aeb F1')
  const modes = join(work, 'modes.mjs')
  writeFileSync(
    modes,
    `import { convert } from ${JSON.stringify(library)}\n` +
      `export const page = (html) => convert(html)\nexport const main = (html) => convert(html, { content: 'main' })\n`,
  )
  const wcxb = (mode) =>
    run(
      join(folder, 'tools/wcxb/score.mjs'),
      '--module',
      modes,
      '--export',
      mode,
      '--corpus',
      join(folder, 'corpus/wcxb'),
      '--worst',
      '0',
    )
  found['WCXB main F1'] = row(wcxb('main'), 'all')[1]
  found['WCXB page recall'] = row(wcxb('page'), 'all')[3]
  return found
}
