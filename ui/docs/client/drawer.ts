/** The menu of narrow windows: opens over the page, closes with Escape, a link or a click beside it. */
export function drawer(): void {
  const button = document.querySelector<HTMLButtonElement>('.menu-open')!
  const menu = document.getElementById('menu')!
  const rest = document.querySelectorAll<HTMLElement>('main, aside')
  const show = (isOpen: boolean): void => {
    document.body.classList.toggle('menu-shown', isOpen)
    button.setAttribute('aria-expanded', String(isOpen))
    for (const part of rest) part.inert = isOpen
    if (isOpen) menu.focus()
  }
  // The current page may be below the visible part of the menu.
  const current = menu.querySelector<HTMLElement>('[aria-current]')
  if (current && current.offsetTop > menu.clientHeight) menu.scrollTop = current.offsetTop - menu.clientHeight / 2
  const isOpen = (): boolean => button.getAttribute('aria-expanded') === 'true'
  button.addEventListener('click', () => show(!isOpen()))
  document.addEventListener('keydown', ({ key }) => {
    if (key !== 'Escape' || !isOpen()) return
    show(false)
    button.focus()
  })
  document.addEventListener('click', ({ target }) => {
    if (isOpen() && target instanceof Element && !target.closest('#menu, .menu-open')) show(false)
  })
  // Wide windows have no drawer.
  matchMedia('(min-width: 900px)').addEventListener('change', () => show(false))
}
