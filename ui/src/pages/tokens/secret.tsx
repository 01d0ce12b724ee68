import { Code } from '../../parts/panel.tsx'
import { Notice } from '../../parts/states.tsx'
import { Sheet, SheetBody } from '../../parts/sheet.tsx'

/** The secret of a token. The API shows it once. */
export const Secret = ({ title, secret, onClose }: { title: string; secret: string; onClose: () => void }) => (
  <Sheet title={title} onClose={onClose}>
    <SheetBody>
      <Notice kind="warn">Copy the secret now. It is not shown again.</Notice>
      <Code label="Secret" text={secret} />
      <p>To try it:</p>
      <Code
        label="Command that tries the token"
        text={`curl -H 'Authorization: Bearer ${secret}' ${location.origin}/client/v4/user/tokens/verify`}
      />
    </SheetBody>
  </Sheet>
)
