import t from 'tap'
import { workersDaemon } from '../../workers/runtime-helper.js'

const PYTHON = `from workers import Response, WorkerEntrypoint
class Default(WorkerEntrypoint):
    async def fetch(self, request):
        return Response("hello")
`

t.test('the error page of a Worker that does not run says why, and what the owner can do', async (t) => {
  const daemon = await workersDaemon(t, { more: 'workers: { runtime: off }' })
  const explained = async (name: string) => {
    const { status, text } = await daemon.get(`${name}.example.test`, '/', { headers: { accept: 'application/json' } })
    return [status, JSON.parse(text) as unknown]
  }
  const python = { name: 'main.py', body: PYTHON, type: 'text/x-python' }
  const { messages } = await daemon.upload('python', '', { main_module: 'main.py' }, [python])
  t.match(messages, [{ code: 10901, message: /does not run Python Workers/ }])
  await daemon.domain('python')
  t.match(await explained('python'), [
    501,
    {
      detail: 'A Worker in Python is responsible for this address, and this server does not run Python.',
      what_you_should_do: 'The owner of the website can deploy the Worker in JavaScript or WebAssembly.',
      owner_action_required: true,
      retryable: false,
    },
  ])

  await daemon.upload('app', 'export default { fetch() { return new Response("hello") } }')
  await daemon.domain('app')
  t.match(await explained('app'), [
    501,
    {
      detail: 'A Worker is responsible for this address, and this server runs no Workers.',
      what_you_should_do: /install the runtime for Workers\. "edged doctor" prints the command/,
      owner_action_required: true,
    },
  ])
})
