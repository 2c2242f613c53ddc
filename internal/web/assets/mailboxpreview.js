// The page of the own mailbox beside its settings, as visitors will see it: the components of the page itself, which take no input here.

import { html, useEffect, useRef } from "./ui.js";
import { T } from "./i18n.js";
import { transfer } from "./api.js";
import { Fields } from "./fields.js";
import { Closed, Invites, Owner } from "./mailboxview.js";
import { Chooser } from "./upload/chooser.js";

/**
 * @param {{mailbox: TransferAPI["OwnMailbox"] | null, values: any, filter: string[], fields: any}} props what is saved; the values of the
 * form, the file types and the questions, which may not be saved yet
 */
export function PagePreview({ mailbox, values, filter, fields }) {
  const frame = useRef(/** @type {HTMLElement | null} */ (null));
  const at = `${transfer}/public/mailbox/${mailbox?.uid ?? ""}`;
  useEffect(() => {
    frame.current?.setAttribute("inert", "");
    frame.current?.style.setProperty("background-image", mailbox?.hasPicture ? `url("${at}/picture")` : "none");
  }, [at, mailbox?.hasPicture]);
  const shown = { ...mailbox, ...values, hasAvatar: Boolean(mailbox?.hasAvatar), unavailableReason: "absent",
    maxFiles: Number(values.maxFiles) || mailbox?.maxFiles || Infinity,
    maxFileSizeMb: Number(values.maxFileSizeMb) || mailbox?.maxFileSizeMb || Infinity,
    mimeTypeFilterEnabled: filter.length > 0, mimeTypeFilterDescription: filter.join(", ") };
  return html`<aside class="beside-preview" tabindex="0" aria-label=${T("Preview of your page")}>
    <p class="kicker">${T("Preview of your page")}</p>
    <div ref=${frame} class="shown">
      ${values.absent ? html`<div class="sheet"><${Owner} mailbox=${shown} at=${at} /><${Closed} mailbox=${shown} /></div>`
    : html`<${Invites} mailbox=${shown} at=${at}><${Chooser} plain disabled onFiles=${() => {}} /><//>`}
      ${!values.absent && fields.fieldsSchema && html`<div class="sheet"><fieldset>
        <legend>${fields.fieldsSchema.title || T("Questions from the recipient")}</legend>
        <${Fields} form="preview" schema=${fields.fieldsSchema} ui=${fields.uiSchema} values=${{}} onValue=${() => {}} />
      </fieldset></div>`}
    </div>
    <p class="hint">${T("Not saved changes are shown, too.")}</p>
  </aside>`;
}
