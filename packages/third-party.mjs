/** Packages of others that became part of a bundle: their licences, and the list of them as CycloneDX. */
import { execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { globSync } from 'tinyglobby'
import { ROOT } from './pack.mjs'

const LICENCES = ['', 'deps/*/*/'].map((below) => `${below}{licence,license,copying,notice}*`)

/** Returns the licence texts of packages. Packages with the same text share it. */
export function licenceTexts(folders) {
  const packages = new Map()
  for (const folder of folders) {
    const { name, version, license } = manifestOf(folder)
    const text = licenceText(folder) ?? `Licensed under ${license}; the package does not contain the text.`
    packages.set(text, [...(packages.get(text) ?? []), `${name} ${version} (${license})`])
  }
  const parts = [...packages].map(
    ([text, names]) => `${'-'.repeat(80)}\n${[...new Set(names)].join('\n')}\n\n${text}\n`,
  )
  return `Code of these packages is part of this one. Their licences follow.\n\n${parts.join('\n')}`
}

/** Packages of a family may not repeat the text. Compiled packages have texts of the libraries in them below `deps`. */
function licenceText(folder) {
  const files = globSync(LICENCES, { cwd: join(ROOT, folder), caseSensitiveMatch: false })
  if (files.length === 0) return undefined
  return files
    .sort()
    .map((name) =>
      readFileSync(join(ROOT, folder, name), 'utf8')
        .replaceAll('\r\n', '\n')
        .trim(),
    )
    .join('\n\n')
}

/** Returns the list of what is in a tarball, as CycloneDX: these packages, and the tarball with its hash. */
export function materials(folders, tarball) {
  const args = ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only']
  const printed = execFileSync('npm', args, {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'ignore'],
    maxBuffer: 64 * 1024 * 1024,
  })
  const { $schema, bomFormat, specVersion, version, metadata, components, dependencies } = JSON.parse(String(printed))
  const named = new Set(folders.map(manifestOf).map((one) => `${one.name}@${one.version}`))
  const parts = components.filter((part) => named.has(part['bom-ref']))
  if (parts.length !== named.size) throw new Error('package-lock.json and node_modules differ; run npm ci')
  const hashes = [{ alg: 'SHA-256', content: createHash('sha256').update(readFileSync(tarball)).digest('hex') }]
  const component = { ...metadata.component, name: 'edged', type: 'application', hashes }
  const refs = new Set([component['bom-ref'], ...named])
  return {
    $schema,
    bomFormat,
    specVersion,
    version,
    metadata: { lifecycles: [{ phase: 'build' }], tools: metadata.tools, component },
    // What only the dashboard needs is a development dependency, but part of the tarball.
    components: parts.map((part) => ({ ...part, properties: [], scope: 'required' })),
    dependencies: dependencies
      .filter(({ ref }) => refs.has(ref))
      .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((other) => refs.has(other)) })),
  }
}

const manifestOf = (folder) => JSON.parse(readFileSync(join(ROOT, folder, 'package.json'), 'utf8'))
