/// The page of `GET /`: what a person finds who opens the address of a backend in a browser.
public enum HomePage {
  /// The header fields; the page loads nothing and runs nothing.
  public static let headers = HTTPFields.page(
    "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'; "
      + "frame-ancestors 'none'")

  /// The page in UTF-8.
  public static let bytes = Array(
    """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Holdfast</title>
    <style>
    :root { color-scheme: light dark; }
    body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 40rem;
      padding: 0 1rem; overflow-wrap: anywhere; }
    h1 { font-size: 1.4rem; }
    dt { font-weight: bold; }
    </style>
    </head>
    <body>
    <h1>Holdfast</h1>
    <p>This is a backend for phones and assistants. It has these addresses:</p>
    <dl>
    <dt>/mcp</dt>
    <dd>For assistants that speak the Model Context Protocol. Give your assistant the address of
    this page with <code>/mcp</code> behind it; then it asks for the two words and the code that the
    phone shows.</dd>
    <dt><a href="/health">/health</a></dt>
    <dd>A page with your steps, heart rate, sleep and workouts, where a phone sends them here.</dd>
    <dt><a href="/healthz">/healthz</a></dt>
    <dd>Whether this backend can serve.</dd>
    </dl>
    </body>
    </html>

    """.utf8)
}
