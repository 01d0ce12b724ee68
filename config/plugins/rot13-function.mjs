// A function of the rules language, as in `rot13(http.request.uri.path) contains "/nqzva"`.

/** @param {import('edged/plugin').Edged} edged */
export default (edged) => {
  edged.function({
    name: 'rot13',
    params: ['Bytes'],
    returns: 'Bytes',
    call: (text) => text?.replace(/[a-z]/gi, turned),
  })
}

function turned(letter) {
  const base = letter <= 'Z' ? 65 : 97
  return String.fromCharCode(((letter.charCodeAt(0) - base + 13) % 26) + base)
}
