/**
 * `npm run tests-of FILE...`: prints the tests that cover a file, the nearest first. A test covers a file if it imports the file,
 * directly or through other files. Tests in `test/e2e` drive the built daemon over its sockets and import no product code: the ones
 * whose names share a word with the file's path are printed as well.
 */
import { existsSync, readFileSync } from 'node:fs'
import { basename, dirname, join, normalize, relative } from 'node:path'
import { fileURLToPath } from 'node:url'
import { globSync } from 'tinyglobby'

const ROOT = fileURLToPath(new URL('..', import.meta.url))
/** Maximum number of tests that are printed for a file. */
const MAX_SHOWN = 12
const IMPORT = /(?:\bfrom|\bimport)\s*\(?\s*'(\.{1,2}\/[^']+)'/g

process.chdir(ROOT)
const paths = process.argv.slice(2).map((path) => relative(ROOT, join(process.env['INIT_CWD'] ?? ROOT, path)))
if (paths.length === 0) {
  console.error('name a file of the product, for example: npm run tests-of src/egress/guard.ts')
  process.exit(2)
}
const importers = readImporters()
for (const path of paths) {
  if (!existsSync(path)) {
    console.error(`${path} does not exist; name a file below ${ROOT}`)
    process.exitCode = 2
  } else print(path)
}

/** Returns the files that import each file, types included. */
function readImporters() {
  const files = globSync(['{src,control,pipelines,sinks,test,ui}/**/*.{ts,tsx,mjs}'], {
    ignore: ['**/node_modules/**', 'test/fixtures/**'],
  })
  const known = new Set(files)
  const found = new Map(files.map((file) => [file, []]))
  for (const file of files) {
    for (const [, specifier] of readFileSync(file, 'utf8').matchAll(IMPORT)) {
      const target = normalize(join(dirname(file), specifier))
      const source = [target, target.replace(/\.js$/, '.ts'), target.replace(/\.js$/, '.tsx')].find((name) =>
        known.has(name),
      )
      if (source !== undefined) found.get(source).push(file)
    }
  }
  return found
}

/** Returns the words of a path that are longer than three letters. */
function wordsOf(path) {
  return path.split(/[/.-]/).filter((word) => word.length > 3)
}

/** Returns how many words the name of a test shares with a path. */
function kinship(test, path) {
  const words = new Set(wordsOf(path))
  return wordsOf(test).filter((word) => words.has(word)).length
}

/**
 * Returns the tests that import a file with the number of imports between both: the nearest first, and of equally near ones
 * those whose names are most like the path.
 */
function testsOf(path) {
  const distances = new Map([[path, 0]])
  // The map grows while it is read: a search in breadth.
  for (const [file, distance] of distances)
    for (const importer of importers.get(file) ?? [])
      if (!distances.has(importer)) distances.set(importer, distance + 1)
  return [...distances]
    .filter(([file]) => file.endsWith('.test.ts'))
    .sort(([one, a], [other, b]) => a - b || kinship(other, path) - kinship(one, path))
}

/** Returns the end-to-end tests whose names share a word with the path. */
function drivenTests(path) {
  return globSync('test/e2e/**/*.test.ts').filter((file) => kinship(basename(file, '.test.ts'), path) > 0)
}

function print(path) {
  const tests = testsOf(path)
  console.log(path)
  const shown = tests.slice(0, MAX_SHOWN)
  for (const [file, distance] of shown)
    console.log(`  ${file}${distance === 1 ? '' : `  (through ${distance - 1} file${distance === 2 ? '' : 's'})`}`)
  if (tests.length > MAX_SHOWN) console.log(`  and ${tests.length - MAX_SHOWN} tests that import it through more files`)
  if (tests.length === 0) console.log('  no test imports it')
  const driven = drivenTests(path).filter((file) => !shown.some(([other]) => other === file))
  for (const file of driven) console.log(`  ${file}  (end to end, by its name)`)
}
