/**
 * `node packages/api.mjs`: writes the public types of the package's exports to `packages/api/NAME.d.ts`. Each file has the
 * exported declarations and the ones that they use, without comments. A test compares them with the sources, so a change
 * of the public types is a change of these files.
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { fileURLToPath, pathToFileURL } from 'node:url'
import ts from 'typescript'

const ROOT = fileURLToPath(new URL('..', import.meta.url))

/** Returns the entry of each export of the package, as the path of its source. */
function entries() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  return Object.entries(exports).map(([name, { types }]) => ({
    name: name.slice(2),
    source: join(ROOT, types.replace('./dist/', '').replace('.d.ts', '.ts')),
  }))
}

/** Returns the public types of each export, by the path of the file that has them. */
export function publicTypes() {
  const all = entries()
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), (path) => ts.sys.readFile(path))
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: [], files: all.map(({ source }) => source) },
    ts.sys,
    ROOT,
  )
  const program = ts.createProgram(
    all.map(({ source }) => source),
    { ...options, incremental: false, tsBuildInfoFile: undefined, sourceMap: false },
  )
  const report = new Report(program)
  return new Map(all.map(({ name, source }) => [`packages/api/${name}.d.ts`, report.of(source)]))
}

class Report {
  #program
  #checker
  #emitted = new Map()
  #printer = ts.createPrinter({ removeComments: true })

  constructor(program) {
    this.#program = program
    this.#checker = program.getTypeChecker()
  }

  /** Returns the declarations that a module exports, and the ones that they use. */
  of(source) {
    const module = this.#checker.getSymbolAtLocation(this.#program.getSourceFile(source))
    const exported = new Set(this.#checker.getExportsOfModule(module).map((symbol) => this.#resolved(symbol)))
    const found = new Map()
    const queue = [...exported]
    while (queue.length > 0) {
      const symbol = queue.pop()
      if (found.has(symbol)) continue
      const statements = this.#statements(symbol)
      if (statements.length === 0) continue
      found.set(symbol, statements)
      for (const statement of statements) queue.push(...this.#used(statement, symbol))
    }
    const names = this.#checker.getExportsOfModule(module).map(({ name }) => name)
    const blocks = [...found]
      .map(([symbol, statements]) => ({ symbol, text: this.#text(symbol, statements) }))
      .sort((a, b) => exported.has(b.symbol) - exported.has(a.symbol) || (a.text < b.text ? -1 : 1))
    return `// Exports: ${names.sort().join(', ')}\n\n${blocks.map(({ text }) => text).join('\n\n')}\n`
  }

  #resolved(symbol) {
    return symbol.flags & ts.SymbolFlags.Alias ? this.#checker.getAliasedSymbol(symbol) : symbol
  }

  /** Returns the statements of the emitted declarations that declare a symbol of ours. */
  #statements(symbol) {
    return (symbol.declarations ?? []).flatMap((declaration) => {
      const file = declaration.getSourceFile()
      if (file.isDeclarationFile || file.fileName.includes('node_modules')) return []
      return this.#declarations(file).statements.filter((statement) => namesOf(statement).includes(symbol.name))
    })
  }

  #declarations(file) {
    let parsed = this.#emitted.get(file)
    if (!parsed) {
      let text = ''
      this.#program.emit(file, (_, content) => (text = content), undefined, true)
      parsed = ts.createSourceFile(file.fileName, text, ts.ScriptTarget.Latest, true)
      this.#emitted.set(file, parsed)
    }
    return parsed
  }

  /** Returns the symbols of ours that a declaration names. */
  #used(statement, { declarations: [declaration] }) {
    const file = declaration.getSourceFile()
    const used = new Set()
    const visit = (node) => {
      if (ts.isIdentifier(node)) {
        const symbol = this.#checker.resolveName(
          node.text,
          file,
          ts.SymbolFlags.Type | ts.SymbolFlags.Value | ts.SymbolFlags.Alias,
          true,
        )
        if (symbol) used.add(this.#resolved(symbol))
      }
      ts.forEachChild(node, visit)
    }
    visit(statement)
    return used
  }

  #text(symbol, statements) {
    const file = statements[0].getSourceFile()
    const unique = [...new Set(statements)]
    const texts = unique.map((each) => this.#printer.printNode(ts.EmitHint.Unspecified, each, each.getSourceFile()))
    return `// ${symbol.name}: ${relative(ROOT, file.fileName)}\n${texts.join('\n')}`
  }
}

function namesOf(statement) {
  if (ts.isVariableStatement(statement)) return statement.declarationList.declarations.map(({ name }) => name.getText())
  return statement.name ? [statement.name.text] : []
}

if (import.meta.url === pathToFileURL(process.argv[1] ?? '').href)
  for (const [path, text] of publicTypes()) {
    writeFileSync(join(ROOT, path), text)
    process.stdout.write(`${path}\n`)
  }
