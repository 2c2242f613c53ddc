// What the APIs refuse, in words for people. Codes are those of the two OpenAPI documents, each API with its own; a code
// without a sentence of its own gets that of its status.

import { F, T, duration } from "./words.js";

/** Of both APIs. @type {Record<number, () => string>} */
const shared = {
  403901: () => T("Please confirm your email address first."),
  403902: () => T("Your organization requires a second factor. Set one up on the account page."),
};

/** @type {Record<number, () => string>} */
const ofIdentity = {
  400030: () => T("This way of signing in is not offered here."),
  400031: () => T("Too much time has passed. Please sign in again."),
  400032: () => T("Your account has no verified second factor of this kind."),
  400050: () => T("The other service has not signed you in."),
  400051: () => T("Too much time has passed. Please sign in again."),
  400052: () => T("Too much time has passed. Please sign in again."),
  401002: () => T("The email address and the password or code do not match."),
  401003: () => T("Your organization has its own address. Please sign in there."),
  401004: () => T("Too much time has passed. Please sign in again."),
  401050: () => T("The other service does not confirm your email address."),
  401051: () => T("The other service has not signed you in."),
  401052: () => T("The organization has reached its number of members."),
  401053: () => T("The other service has not signed you in."),
  403010: () => T("For this, you must have signed in within the last 15 minutes. Please sign in again."),
  403011: () => T("For this, your email address must have been confirmed recently. Please set a new password by email."),
  403012: () => T("Your account is managed by another service; change this there."),
  403013: () => T("There can be only one of this kind."),
  403014: () => T("This email address is already in use."),
  403015: () => T("There is no account with a password for this address, or the address was never confirmed."),
  403017: () => T("This email address is already in use."),
  403018: () => T("This is your main address. Make another one the main address first."),
  403019: () => T("Please confirm your email address first."),
  403020: () => T("You are the last administrator. Make somebody else one first."),
  403021: () => T("The organization has reached its number of members."),
  403022: () => T("You are a member of an organization. Leave it first."),
  403023: () => T("You are not a member of this organization."),
  403024: () => T("Only an administrator of the organization may do this."),
  403025: () => T("A link for everybody can give permissions for services only."),
  403026: () => T("The invitation is for an address that is not a confirmed one of yours."),
  403027: () => T("The hostname cannot be changed."),
  403028: () => T("Hostnames that are no longer used can be removed, not added."),
  403029: () => T("To remove yourself, leave the organization."),
  403040: () => T("This organization cannot be deleted."),
  403041: () => T("The document needs an active subscription and a complete profile."),
  403042: () => T("The document needs an active subscription and a complete profile."),
  403043: () => T("The document needs an active subscription and a complete profile."),
  403044: () => T("There can be 10 addresses at most."),
  403045: () => T("This code is not right, or no longer valid."),
  403046: () => T("This password is not right."),
  403047: () => T("This way of signing in cannot be removed."),
  403048: () => T("This session began without your second factor. Please sign in again with it."),
  403050: () => T("This email address has an account here already. Sign in with its password."),
  403051: () => T("Too much time has passed. Please sign in again."),
  404002: () => T("This link is unknown, was already used, or has expired."),
  404003: () => T("The other service has not signed you in."),
  404006: () => T("This session has ended already."),
  404011: () => T("This link is unknown, was already used, or has expired."),
  409014: () => T("This email address is already in use."),
  409015: () => T("This name is already taken."),
  409016: () => T("This person is a member of another organization."),
  409017: () => T("There is no account with a password for this address, or the address was never confirmed."),
  409020: () => T("This person is a member already."),
  409050: () => T("The other service cannot be reached at the moment. Please try again."),
  429002: () => T("This is possible once a minute. Please wait a moment."),
};

/** @type {Record<number, () => string>} */
const ofTransfer = {
  400010: () => T("This is not the name of a mailbox."),
  400011: () => T("Something is still missing before this can be delivered."),
  400012: () => T("The connection was cut off. What has arrived is kept."),
  400013: () => T("A file was damaged on its way. Please send it again."),
  401010: () => T("This password is not right."),
  401011: () => T("This code is not right, or no longer valid."),
  403002: () => T("This period of availability is not offered."),
  403030: () => T("The owner is absent and takes no files at the moment."),
  403031: () => T("The owner's upload volume for this month is used up."),
  403032: () => T("The monthly volume of this organization is used up."),
  403033: () => T("This mailbox takes no files at the moment."),
  403034: () => T("The storage of this organization is full."),
  403035: () => T("These are more files than the mailbox takes at once."),
  403036: () => T("This file is larger than the mailbox takes."),
  403037: () => T("These are more recipients than allowed."),
  403038: () => T("Your plan includes no more groups."),
  403040: () => T("The mailbox does not take files of this type."),
  403041: () => T("This cannot be changed any more."),
  403042: () => T("This is not one of your confirmed email addresses."),
  403043: () => T("This is above the limit of your organization."),
  403044: () => T("Filters by file type are not part of your plan."),
  403045: () => T("You lack the permission to transfer files. Ask an administrator of your organization."),
  403046: () => T("This transfer has a password. Open it with the link in the message you received."),
  403047: () => T("This transfer is not opened with a code."),
  403050: () => T("Priorities are not used here."),
  403051: () => T("Transfers here need stronger protection."),
  403052: () => T("Only an administrator of the organization may do this."),
  404010: () => T("This download link was used already. Please start the download again."),
  409010: () => T("This transfer has already been delivered."),
  409011: () => T("There is another file of this name already."),
  409012: () => T("The same file is being sent from another window."),
  409013: () => T("This name is already taken."),
  416001: () => T("The upload got out of step and goes on from where the server stands."),
  429003: () => T("The owner has received very many transfers in a short time. Please try again later."),
  429004: () => T("Too many codes were sent for this link today. Please try again tomorrow."),
  503010: () => T("The server has no room at the moment. What has arrived is kept."),
  503011: () => T("The service takes a short break and will be back soon."),
};

/** @type {Record<number, () => string>} */
const statuses = {
  0: () => T("The server could not be reached. Check the connection and try again."),
  400: () => T("Something in the input is not right."),
  401: () => T("The session or link is no longer valid."),
  403: () => T("You are not allowed to do this."),
  404: () => T("This does not exist, or no longer."),
  409: () => T("This was changed elsewhere in the meantime. Please reload the page."),
  413: () => T("This is too large."),
  429: () => T("This was tried too often."),
  503: () => T("The service takes a short break and will be back soon."),
  509: () => T("This was tried too often."),
};

/**
 * The sentence for a refusal.
 * @param {boolean} byIdentity whether the identity API refused, not the transfer API
 * @param {number} status @param {number} code @param {number} wait seconds until a retry makes sense
 */
export function refusal(byIdentity, status, code, wait) {
  const own = byIdentity ? ofIdentity : ofTransfer;
  const sentence = (own[code] ?? shared[code] ?? statuses[status] ?? (() => T("This did not work. Please try again later.")))();
  const later = wait > 1 && (status === 429 || status === 509) ? ` ${F("Please try again in %s.", duration(wait))}` : "";
  return sentence + later;
}

/**
 * The details of a refused request that name a member: member to what is wrong with it, in English as the API says it.
 * @param {{details?: string[]}} error @returns {Record<string, string>}
 */
export function members(error) {
  /** @type {Record<string, string>} */
  const found = {};
  for (const detail of error?.details ?? []) {
    const m = /^([A-Za-z_][\w.[\]-]*): (.+)$/.exec(detail);
    if (m) found[m[1]] ??= m[2];
  }
  return found;
}
