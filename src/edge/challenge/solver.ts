/**
 * The script of the challenge page. It has its own SHA-256, for one block, because browsers do not offer theirs to
 * pages over plain HTTP, and because one call per attempt would be far slower than the hash. Works in slices of 30 ms
 * so that the page stays responsive. Plain ES5: old browsers may have to run it.
 */
export const SOLVER = `
(function () {
  'use strict'
  var form = document.forms[0]
  var status = document.getElementById('status')
  form.hidden = false

  function stop(text) {
    status.textContent = text
    form.querySelector('progress').hidden = true
  }
  if (!navigator.cookieEnabled) {
    stop('This site needs a cookie to remember that your browser has been checked. Allow cookies for it and load the page again.')
    return
  }

  // The first 32 bits of the fractional parts of the roots of the first primes (FIPS 180-4, 4.2.2 and 5.3.3).
  var constants = []
  var start = []
  for (var candidate = 2; constants.length < 64; candidate++) {
    var prime = true
    for (var factor = 2; factor * factor <= candidate; factor++) if (candidate % factor === 0) prime = false
    if (!prime) continue
    if (start.length < 8) start.push(fraction(Math.sqrt(candidate)))
    constants.push(fraction(Math.cbrt ? Math.cbrt(candidate) : Math.pow(candidate, 1 / 3)))
  }
  function fraction(root) {
    return ((root - Math.floor(root)) * 4294967296) | 0
  }

  // The first 32 bits of the hash of a text of at most 55 ASCII characters.
  var words = new Int32Array(64)
  function firstWord(text) {
    var i
    for (i = 0; i < 16; i++) words[i] = 0
    for (i = 0; i < text.length; i++) words[i >> 2] |= text.charCodeAt(i) << (24 - 8 * (i & 3))
    words[i >> 2] |= 128 << (24 - 8 * (i & 3))
    words[15] = text.length * 8
    for (i = 16; i < 64; i++) {
      var early = words[i - 15]
      var late = words[i - 2]
      words[i] =
        (words[i - 16] + ((early >>> 7 | early << 25) ^ (early >>> 18 | early << 14) ^ early >>> 3) +
          words[i - 7] + ((late >>> 17 | late << 15) ^ (late >>> 19 | late << 13) ^ late >>> 10)) | 0
    }
    var a = start[0], b = start[1], c = start[2], d = start[3]
    var e = start[4], f = start[5], g = start[6], h = start[7]
    for (i = 0; i < 64; i++) {
      var one = (h + ((e >>> 6 | e << 26) ^ (e >>> 11 | e << 21) ^ (e >>> 25 | e << 7)) + ((e & f) ^ (~e & g)) +
        constants[i] + words[i]) | 0
      var two = (((a >>> 2 | a << 30) ^ (a >>> 13 | a << 19) ^ (a >>> 22 | a << 10)) + ((a & b) ^ (a & c) ^ (b & c))) | 0
      h = g
      g = f
      f = e
      e = (d + one) | 0
      d = c
      c = b
      b = a
      a = (one + two) | 0
    }
    return (a + start[0]) >>> 0
  }

  var id = form.elements.ticket.value.split('.')[2]
  var below = Math.pow(2, 32 - Number(form.getAttribute('data-bits')))
  var nonce = 0
  function work() {
    var until = Date.now() + 30
    do {
      for (var tries = 0; tries < 500; tries++, nonce++) {
        if (firstWord(id + '.' + nonce) < below) {
          form.elements.nonce.value = String(nonce)
          form.elements.to.value = location.pathname + location.search + location.hash
          form.submit()
          return
        }
      }
    } while (Date.now() < until)
    setTimeout(work, 0)
  }
  work()

  // Kept by the browser and shown again on "back": the task has been used by then.
  window.addEventListener('pageshow', function (event) {
    if (event.persisted) location.reload()
  })
})()
`
