/// The page of `GET /health`: a person's steps, heart rate, sleep and workouts over days they
/// choose.
///
/// It needs nothing but the `/api/health` routes of its own server. The secret stays in the tab: it
/// is sent as `Authorization` and forgotten when the tab closes.
enum SyncDashboard {
  /// The page in UTF-8.
  static let bytes = Array((head + style + body + script + end).utf8)

  /// What a browser lets the page do (CSP level 3): its own style and script, and questions to its
  /// own server.
  static let policy = """
    default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; \
    connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'
    """

  private static let head = """
    <!doctype html>
    <html lang="en">
    <head>
    <meta charset="utf-8">
    <meta name="viewport" content="width=device-width, initial-scale=1">
    <title>Health</title>

    """

  private static let style = """
    <style>
    :root { color-scheme: light dark; --line: #8885; --bar: #2f7d6b; --soft: #2f7d6b44;
      --awake: #e0a030; --rem: #7d6bd0; --core: #4f8fd0; --deep: #24508f; --asleep: #6f9fb0; }
    * { box-sizing: border-box; }
    body { font: 16px/1.45 system-ui, sans-serif; margin: 0 auto; max-width: 60rem; padding: 1rem;
      overflow-wrap: anywhere; }
    header, form { display: flex; flex-wrap: wrap; gap: .5rem; align-items: center; }
    h1 { font-size: 1.4rem; margin: 0 auto 0 0; }
    h2 { font-size: 1.1rem; margin: 0; }
    section { border-top: 1px solid var(--line); padding: 1rem 0; }
    input, button { font: inherit; padding: .3rem .6rem; }
    button[aria-pressed=true] { font-weight: bold; }
    svg { display: block; width: 100%; height: 9rem; margin: .5rem 0; }
    p { margin: .25rem 0; }
    table { border-collapse: collapse; width: 100%; overflow-wrap: normal; }
    th, td { text-align: right; padding: .15rem .5rem; border-bottom: 1px solid var(--line); }
    th:first-child, td:first-child { text-align: left; }
    .wide, details { overflow-x: auto; }
    [data-state=loading] #shown { opacity: .5; }
    [hidden] { display: none !important; }
    </style>
    </head>

    """

  private static let body = """
    <body data-state="signed-out">
    <header>
    <h1>Health</h1>
    <button id="leave" type="button" hidden>Sign out</button>
    </header>
    <p id="message" role="status" aria-live="polite"></p>
    <form id="door">
    <label for="secret">Secret</label>
    <input id="secret" type="password" autocomplete="current-password" required>
    <button>Sign in</button>
    </form>
    <main id="data" hidden>
    <form id="period">
    <span role="group" aria-label="Period">
    <button type="button" data-days="7">7 days</button>
    <button type="button" data-days="30">30 days</button>
    <button type="button" data-days="90">90 days</button>
    <button type="button" data-days="365">1 year</button>
    </span>
    <label>From <input id="from" type="date" required></label>
    <label>To <input id="to" type="date" required></label>
    <button>Show</button>
    </form>
    <div id="shown" hidden>
    <p id="span"></p>
    <section id="steps"><h2>Steps</h2><p></p><svg></svg><details></details></section>
    <section id="heart"><h2>Heart rate</h2><p></p><svg></svg><details></details></section>
    <section id="sleep"><h2>Sleep</h2><p></p><svg></svg><details></details></section>
    <section id="workouts"><h2>Workouts</h2><p></p><div class="wide"></div></section>
    <p id="zone"></p>
    </div>
    </main>
    <script>

    """

  private static let end = """
    </script>
    </body>
    </html>

    """
}
