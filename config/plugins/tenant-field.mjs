// A field of the rules language: the first label of the host, as in `shop.tenant eq "acme"` for acme.example.com.

/** @param {import('edged/plugin').Edged} edged */
export default ({ field }) => {
  field({
    name: 'shop.tenant',
    type: 'Bytes',
    description: 'First label of the host, if it has three or more.',
    get({ host }) {
      const labels = host.split('.')
      return labels.length > 2 ? labels[0] : undefined
    },
  })
}
