// Requests to the server, with the secret of the person.

/** The server does not know the secret. */
export class Refused extends Error {}

const key = 'secret';

/** The secret, which the tab keeps until it is closed. */
export const secret = {
  get: () => sessionStorage.getItem(key),
  set: value => sessionStorage.setItem(key, value),
  remove: () => sessionStorage.removeItem(key),
};

/** The longest time until an answer is complete, in milliseconds. */
const patience = 60_000;

const gone = () => {
  throw new Error('The server cannot be reached.');
};

/** Returns the answer to a request, which `signal` can end. */
export async function ask(path, query, signal) {
  const unknown = 'The server does not know this secret.';
  const word = secret.get() ?? '';
  // No secret has blanks or control characters, nor can a header field carry them.
  if (/[^!-~\u0080-\uffff]/.test(word)) throw new Refused(unknown);
  // A header field carries bytes: those of the secret in UTF-8, as the server's file has it.
  const bytes = String.fromCharCode(...new TextEncoder().encode(word));
  const question = new URLSearchParams(query).toString();
  const answer = await fetch(`/api/health/${path}${question ? `?${question}` : ''}`, {
    cache: 'no-store', headers: { Authorization: `Bearer ${bytes}` },
    signal: AbortSignal.any([signal, AbortSignal.timeout(patience)]),
  }).catch(gone);
  if (answer.status === 401) throw new Refused(unknown);
  const reply = await answer.json().catch(answer.ok ? gone : () => ({}));
  if (!answer.ok) throw new Error(reply.details ?? reply.error ?? `HTTP ${answer.status}`);
  return reply;
}
