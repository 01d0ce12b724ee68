import Koa from 'koa'
import t from 'tap'
import { pages } from '../../control/ui/index.js'
import { testFolder } from '../helpers/folder.js'
import { originServer } from '../helpers/web.js'

// A person who opened the address of the API saw JSON with the status 404.
t.test('a browser at the root is sent to the dashboard, other clients are not', async (t) => {
  const answer = new Koa().use(pages(testFolder(t)) as never).callback()
  const url = await originServer(t, (request, response) => {
    void answer(request, response)
  })
  const ask = async (accept: string, method = 'GET') => {
    const { status, headers } = await fetch(url, { method, headers: { accept }, redirect: 'manual' })
    return [status, headers.get('location')]
  }
  t.same(await ask('text/html,application/xhtml+xml,*/*;q=0.8'), [302, '/ui/'])
  t.same(await ask('application/json'), [404, null])
  t.same(await ask('*/*'), [404, null])
  t.same(await ask('text/html', 'POST'), [404, null])
})
