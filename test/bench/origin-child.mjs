// An origin with one HTML page of 10 KB.
import { createServer } from 'node:http'

const paragraph = (i) =>
  `<h2>Part ${i}</h2>\n<p>Some <strong>text</strong> with a <a href="/part/${i}">link</a>, <code>code</code> &amp; more of the same, so that the page has the look of a real one.</p>\n<ul><li>one</li><li>two</li></ul>\n`
let body =
  '<!doctype html><html><head><title>Page</title><meta name="description" content="A page"></head><body><main><h1>Page</h1>'
for (let i = 0; body.length < 10_200; i++) body += paragraph(i)
const page = Buffer.from(`${body}</main></body></html>`)
const server = createServer({ keepAliveTimeout: 60_000 }, (_request, answer) => {
  answer.writeHead(200, { 'content-type': 'text/html; charset=utf-8', 'content-length': page.length })
  answer.end(page)
})
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port, bytes: page.length }))
process.on('disconnect', () => process.exit(0))
