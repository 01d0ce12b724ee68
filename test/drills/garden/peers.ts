/** Servers of other projects, each as a proxy with two listeners: one before edged, and one before the origin. */
import { execFileSync, spawn } from 'node:child_process'
import { existsSync, mkdirSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { accepting, freePort, installed } from '../../bench/ports.mjs'

/** Ports that a server listens on and connects to. */
interface Ports {
  readonly toEdged: number
  readonly toOrigin: number
  readonly edged: number
  readonly origin: number
}

interface Peer {
  /** The program, as the Debian package of the same name installs it. */
  readonly program: string
  /** Writes the configuration, and returns the arguments that run the server in the foreground. */
  readonly args: (folder: string, ports: Ports) => readonly string[]
}

const file = (folder: string, name: string, text: string): string => {
  const path = join(folder, name)
  writeFileSync(path, text)
  return path
}

export const PEERS: Readonly<Record<string, Peer>> = {
  nginx: {
    program: 'nginx',
    args(folder, { toEdged, toOrigin, edged, origin }) {
      const server = (listen: number, name: string) =>
        `server { listen 127.0.0.1:${listen}; location / { proxy_pass http://${name}; proxy_http_version 1.1; proxy_set_header Host $http_host; proxy_set_header Connection ""; } }`
      const text = `daemon off; worker_processes 1; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log crit;
events { worker_connections 2048; }
http { access_log off; client_body_temp_path ${folder}; proxy_temp_path ${folder}; fastcgi_temp_path ${folder};
  uwsgi_temp_path ${folder}; scgi_temp_path ${folder}; proxy_read_timeout 3s;
  upstream edged { server 127.0.0.1:${edged} max_fails=0; keepalive 64; }
  upstream origin { server 127.0.0.1:${origin} max_fails=0; keepalive 64; }
  ${server(toEdged, 'edged')}
  ${server(toOrigin, 'origin')} }`
      return ['-c', file(folder, 'nginx.conf', text)]
    },
  },
  haproxy: {
    program: 'haproxy',
    args(folder, { toEdged, toOrigin, edged, origin }) {
      const text = `global
  maxconn 2000
defaults
  mode http
  timeout connect 2s
  timeout client 5s
  timeout server 5s
  http-reuse always
listen edged
  bind 127.0.0.1:${toEdged}
  server edged 127.0.0.1:${edged}
listen origin
  bind 127.0.0.1:${toOrigin}
  server origin 127.0.0.1:${origin}
`
      return ['-db', '-f', file(folder, 'haproxy.cfg', text)]
    },
  },
  apache: {
    program: 'apache2',
    args(folder, { toEdged, toOrigin, edged, origin }) {
      const modules = ['mpm_event', 'authz_core', 'proxy', 'proxy_http']
      const host = (listen: number, to: number) =>
        `Listen 127.0.0.1:${listen}\n<VirtualHost 127.0.0.1:${listen}>\nAllowEncodedSlashes NoDecode\nProxyPreserveHost On\nProxyPass / http://127.0.0.1:${to}/ nocanon retry=0\n</VirtualHost>`
      const text = `ServerRoot ${folder}
ServerName localhost
PidFile ${folder}/apache.pid
ErrorLog ${folder}/apache.log
LogLevel emerg
${modules.map((name) => `LoadModule ${name}_module /usr/lib/apache2/modules/mod_${name}.so`).join('\n')}
${process.getuid?.() === 0 ? 'User www-data\nGroup www-data' : ''}
Timeout 5
${host(toEdged, edged)}
${host(toOrigin, origin)}
`
      return ['-DFOREGROUND', '-f', file(folder, 'apache.conf', text)]
    },
  },
  varnish: {
    program: 'varnishd',
    args(folder, { toEdged, toOrigin, edged, origin }) {
      // Varnish stores nothing here, because a cache would hide how Varnish reads a request.
      const text = `vcl 4.1;
backend origin { .host = "127.0.0.1"; .port = "${origin}"; }
backend edged { .host = "127.0.0.1"; .port = "${edged}"; }
sub vcl_recv { if (local.socket == "toedged") { set req.backend_hint = edged; } return (pass); }
`
      const state = join(folder, 'varnish')
      mkdirSync(state)
      const vcl = file(folder, 'garden.vcl', text)
      const listen = [`toedged=127.0.0.1:${toEdged}`, `toorigin=127.0.0.1:${toOrigin}`].flatMap((at) => ['-a', at])
      return ['-F', ...listen, '-f', vcl, '-n', state, '-s', 'malloc,16m', '-j', 'none']
    },
  },
  // Its reader is that of Go's net/http.
  caddy: {
    program: 'caddy',
    args(folder, { toEdged, toOrigin, edged, origin }) {
      const site = (listen: number, to: number) =>
        `http://:${listen} {\n bind 127.0.0.1\n reverse_proxy 127.0.0.1:${to}\n}\n`
      const text = `{\n admin off\n auto_https off\n log {\n  output discard\n }\n}\n${site(toEdged, edged)}${site(toOrigin, origin)}`
      return ['run', '--config', file(folder, 'Caddyfile', text), '--adapter', 'caddyfile']
    },
  },
}

/** Of 5 s each. */
const START_ATTEMPTS = 12

/** A running server. */
export interface RunningPeer {
  readonly name: string
  readonly version: string
  readonly toEdged: number
  readonly toOrigin: number
}

/** Ports of a server that starts later, because edged needs to know them. */
export const peerPorts = async (): Promise<Pick<Ports, 'toEdged' | 'toOrigin'>> => ({
  toEdged: await freePort(),
  toOrigin: await freePort(),
})

export const isInstalled = (name: string): boolean => installed(PEERS[name]!.program)

/** Starts a server. `ended` gets what stops it. */
export async function startPeer(
  name: string,
  folder: string,
  ports: Ports,
  ended: (stop: () => void) => void,
): Promise<RunningPeer> {
  const { program, args } = PEERS[name]!
  if (!existsSync(folder)) mkdirSync(folder)
  const env = { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder, XDG_CONFIG_HOME: folder }
  const child = spawn(program, args(folder, ports), { stdio: 'ignore', env })
  ended(() => child.kill('SIGTERM'))
  for (const port of [ports.toEdged, ports.toOrigin]) await listening(port)
  return { name, version: versionOf(program), ...ports }
}

/** Varnish compiles its configuration first, which takes long on a busy machine. */
async function listening(port: number): Promise<void> {
  for (let attempts = START_ATTEMPTS; attempts > 1; attempts--)
    try {
      return await accepting(port)
    } catch {
      // It is not listening yet.
    }
  await accepting(port)
}

function versionOf(program: string): string {
  const flag = program === 'caddy' ? 'version' : program === 'varnishd' ? '-V' : '-v'
  const text = execFileSync('sh', ['-c', `${program} ${flag} 2>&1`]).toString()
  return /\d+\.\d+(?:\.\d+)?/.exec(text)?.[0] ?? 'unknown version'
}
