import { fork, spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { accepting, freePort, installed } from './ports.mjs'

const paragraph = (i) =>
  `<h2>Part ${i}</h2>\n<p>Some <strong>text</strong> with a <a href="/part/${i}">link</a>, <code>code</code> &amp; more of the same, so that the page has the look of a real one.</p>\n<ul><li>one</li><li>two</li></ul>\n`

/** An HTML page of 10 KB. */
export function page() {
  let body =
    '<!doctype html><html><head><title>Page</title><meta name="description" content="A page"></head><body><main><h1>Page</h1>'
  for (let i = 0; body.length < 10_200; i++) body += paragraph(i)
  return `${body}</main></body></html>`
}

/** Serves the page: by nginx where it is installed, so that the origin takes as little as possible of the machine. */
export async function startOrigin(folder) {
  const text = page()
  const file = `${folder}/index.html`
  writeFileSync(file, text)
  if (!installed('nginx')) {
    const child = fork(new URL('./origin-child.mjs', import.meta.url), [file])
    const [{ port }] = await once(child, 'message')
    return { port, bytes: text.length, server: 'node:http', stop: () => child.disconnect() }
  }
  const port = await freePort()
  writeFileSync(
    `${folder}/origin.conf`,
    `daemon off; worker_processes 1; pid ${folder}/origin.pid; error_log ${folder}/origin.log;
    events { worker_connections 32768; }
    http { access_log off; types { text/html html; } charset utf-8; client_body_temp_path ${folder};
      proxy_temp_path ${folder}; fastcgi_temp_path ${folder}; uwsgi_temp_path ${folder}; scgi_temp_path ${folder};
      open_file_cache max=8 inactive=1h;
      server { listen 127.0.0.1:${port}; keepalive_requests 10000000; root ${folder}; } }`,
  )
  const child = spawn('nginx', ['-c', `${folder}/origin.conf`], { stdio: 'ignore' })
  await accepting(port)
  return { port, bytes: text.length, server: 'nginx', stop: () => child.kill('SIGTERM') }
}
