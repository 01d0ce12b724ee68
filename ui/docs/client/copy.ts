const SHOWN_MS = 2000

/** Adds a button to each block of code. */
export function addCopyButtons(): void {
  for (const box of document.querySelectorAll('.code')) {
    const button = document.createElement('button')
    button.type = 'button'
    button.className = 'copy'
    button.textContent = 'Copy'
    button.addEventListener('click', () => void copyFrom(box, button))
    box.append(button)
  }
}

async function copyFrom(box: Element, button: HTMLButtonElement): Promise<void> {
  const text = box.querySelector('code')?.textContent?.replace(/\n$/, '') ?? ''
  button.textContent = (await copied(text)) ? 'Copied' : 'Not allowed'
  setTimeout(() => {
    button.textContent = 'Copy'
  }, SHOWN_MS)
}

/** Returns whether the text is in the clipboard. Pages without HTTPS on other hosts have no `navigator.clipboard`. */
async function copied(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    return true
  } catch {
    const field = document.createElement('textarea')
    field.value = text
    document.body.append(field)
    field.select()
    const done = document.execCommand('copy')
    field.remove()
    return done
  }
}
