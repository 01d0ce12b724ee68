/** Type declarations of a package: the files that an entry needs, without the packages that only the sources need. */
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'

/** Copies the declarations that `entries` need, paths in `from` without `.d.ts`, to the same paths in `to`. */
export function copyDeclarations(entries, from, to) {
  const known = new Set()
  for (const entry of entries) addNeeded(entry, from, known)
  const files = [...known].map((name) => join(from, `${name}.d.ts`))
  const withSchemas = files.filter((file) => readFileSync(file, 'utf8').includes("'typebox'"))
  const plain = plainTypes(withSchemas)
  for (const file of files) {
    const copy = join(to, relative(from, file))
    mkdirSync(dirname(copy), { recursive: true })
    const text = plain.get(file)
    if (text === undefined) copyFileSync(file, copy)
    else writeFileSync(copy, text)
  }
}

function addNeeded(name, from, known) {
  if (known.has(name)) return
  known.add(name)
  const text = readFileSync(join(from, `${name}.d.ts`), 'utf8')
  for (const [, path] of text.matchAll(/from '(\.[^']*)\.js'/g)) addNeeded(join(dirname(name), path), from, known)
}

/** Returns declarations with each schema as an object and each type of a schema written out: they do not need TypeBox. */
function plainTypes(files) {
  if (files.length === 0) return new Map()
  const options = { module: ts.ModuleKind.NodeNext, strict: true, exactOptionalPropertyTypes: true, skipLibCheck: true }
  const program = ts.createProgram(files, options)
  const checker = program.getTypeChecker()
  return new Map(files.map((file) => [file, plainText(program.getSourceFile(file), checker)]))
}

function plainText(source, checker) {
  const edits = source.statements.flatMap((statement) => {
    const text = statement.getText(source)
    if (text.includes("'typebox'")) return [[statement, '']]
    if (ts.isVariableStatement(statement) && text.includes('Type.T'))
      return [[statement, `export declare const ${nameOf(statement.declarationList.declarations[0])}: object;`]]
    if (ts.isTypeAliasDeclaration(statement) && text.includes('Static<'))
      return [[statement, `export type ${nameOf(statement)} = ${writtenOut(statement, checker)};`]]
    return []
  })
  let text = source.text
  for (const [statement, replacement] of edits.toReversed())
    text = text.slice(0, statement.getStart(source)) + replacement + text.slice(statement.end)
  return text
}

const nameOf = (declaration) => declaration.name.text

function writtenOut(alias, checker) {
  const flags = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias
  return checker.typeToString(checker.getTypeAtLocation(alias), alias, flags)
}
