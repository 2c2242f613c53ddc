// The page of a link whose transfer has expired: what it was, from whom, and a button that asks for more time.

import { Button, Field, Form, Notice, Problem, StepHeading, Unchecked, Waiting, html, useAction, useEffect, useState } from "./ui.js";
import { Empty } from "./drawings.js";
import { F, N, T, bytes, exactly } from "./i18n.js";
import { call } from "./api.js";

/**
 * Shows an expired transfer, or `children` when the link leads to none that can be extended.
 * @param {{at: `/transfer/v2/public/transfers/${string}`, children: unknown}} props `at` is the path of the link in the API
 */
export function Expired({ at, children }) {
  const [value, setValue] = useState(/** @type {TransferAPI["ExpiredTransfer"] | null} */ (null));
  const load = useAction(async () => setValue((await call("GET", `${at}/extension`)).body));
  const ask = useAction(async ({ message }) => {
    await call("POST", `${at}/extension`, { json: message ? { message } : {} });
    setValue(value && { ...value, asked: true });
  });
  useEffect(() => { load.run(); }, []);
  if (load.error) return children;
  if (!value) return html`<${Waiting} />`;
  const who = value.sender.name || value.sender.email || T("Somebody");
  return html`<div class="narrow center">
    <${Empty} drawing="gone" head=${html`<${StepHeading}>${T("These files have expired")}<//>`}
      sentence=${html`${F("%s sent them on %s. They were available until %s.", who, exactly(value.createdAt),
        exactly(value.expiresAt))} <${Unchecked} sender=${value.sender} />`} />
    ${value.objectCount !== undefined && value.totalBytes !== undefined && value.objectCount > 0
      && html`<p class="dim">${N("%d file, %s", "%d files, %s", value.objectCount, bytes(value.totalBytes))}</p>`}
    ${value.asked ? html`<${Notice} kind="good">
      ${T("The sender was asked to make the files available again. You get an email when that happens.")}<//>`
      : html`<${Form} onSend=${ask.run}>
        <${Field} label=${T("Message")} optional as="textarea" name="message" rows="2" maxlength="240" />
        <${Problem} error=${ask.error} />
        <${Button} type="submit" kind="primary" icon="mail" busy=${ask.busy}>${T("Ask for more time")}<//>
      <//>`}
  </div>`;
}
