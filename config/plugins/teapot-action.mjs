// An action of rules: responds with 418, or marks requests that have brought a cup.

/** @param {import('edged/plugin').Edged} edged */
export default ({ action, Type }) => {
  action({
    name: 'teapot',
    summary: 'Responds with 418, or lets requests with a cup pass.',
    phases: ['http_request_firewall_custom'],
    params: Type.Object({ cup: Type.String({ minLength: 1, description: 'Value of the header x-cup that passes.' }) }),
    examples: [{ phase: 'http_request_firewall_custom', params: { cup: 'blue' } }],

    prepare({ cup }) {
      return ({ request, setRequestHeader }) => {
        const { clientHeaders: headers } = request
        const at = headers.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === 'x-cup')
        if (at === -1 || headers[at + 1] !== cup)
          return { status: 418, headers: { 'content-type': 'text/plain; charset=utf-8' }, body: 'no cup\n' }
        setRequestHeader('x-tea', 'served')
        return undefined
      }
    },
  })
}
