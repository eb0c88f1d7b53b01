import Foundation
import HoldfastBackend
import HoldfastTestKit
import HoldfastCore
import HoldfastServerCore
import HoldfastWire
import Testing

/// Tests of `GET /health` in a headless browser.
@Suite(
  .enabled(if: Browser.binary != nil, "chromium-headless-shell is not installed"),
  .offThePool, .timeLimit(.minutes(10)))
struct DashboardTests {
  private static let secret = "hush-hush-hush"
  private static let otherSecret = "geschlüsselt-🔑"
  private static let thirdSecret = "third-of-three"

  /// A run during the second occurrence of the hour that repeats when clocks go back in Berlin.
  private static let nightRun = #"""
    {"dataType":"HKWorkoutType","workouts":[
    {"workoutType":"HKWorkoutActivityTypeRunning","sourceName":"Watch","durationSeconds":1800,
    "startTime":"2025-10-26T01:10:00Z","endTime":"2025-10-26T01:40:00Z"}]}
    """#

  /// One batch of each kind: two days of steps, two heart rates, a night of sleep, and a workout
  /// whose source name looks like markup.
  private static let batches = [
    #"""
    {"dataType":"HKQuantityTypeIdentifierStepCount","records":[
    {"recordType":"HKQuantityTypeIdentifierStepCount","sourceName":"Watch","value":4000,
    "unit":"count","startTime":"2026-01-18T09:00:00Z","endTime":"2026-01-18T10:00:00Z"},
    {"recordType":"HKQuantityTypeIdentifierStepCount","sourceName":"Watch","value":2000,
    "unit":"count","startTime":"2026-01-20T09:00:00Z","endTime":"2026-01-20T10:00:00Z"}]}
    """#,
    #"""
    {"dataType":"HKQuantityTypeIdentifierHeartRate","records":[
    {"recordType":"HKQuantityTypeIdentifierHeartRate","sourceName":"Watch","value":60,
    "unit":"count/min","startTime":"2026-01-18T09:00:00Z","endTime":"2026-01-18T09:00:00Z"},
    {"recordType":"HKQuantityTypeIdentifierHeartRate","sourceName":"Watch","value":100,
    "unit":"count/min","startTime":"2026-01-18T09:10:00Z","endTime":"2026-01-18T09:10:00Z"}]}
    """#,
    #"""
    {"dataType":"HKCategoryTypeIdentifierSleepAnalysis","records":[
    {"recordType":"HKCategoryTypeIdentifierSleepAnalysis","sourceName":"Watch",
    "value":3,"startTime":"2026-01-17T23:00:00Z",
    "endTime":"2026-01-18T06:30:00Z"}]}
    """#,
    #"""
    {"dataType":"HKWorkoutType","workouts":[
    {"workoutType":"HKWorkoutActivityTypeRunning","sourceName":"<b id=x>Watch</b>",
    "durationSeconds":1800,"distance":5,"distanceUnit":"km",
    "startTime":"2026-01-19T07:00:00Z","endTime":"2026-01-19T07:30:00Z"}]}
    """#,
    // The number and the name are wider than the screen.
    #"""
    {"dataType":"HKQuantityTypeIdentifierStepCount","records":[
    {"recordType":"HKQuantityTypeIdentifierStepCount","sourceName":"Watch","value":1e300,
    "unit":"count","startTime":"2025-06-01T09:00:00Z","endTime":"2025-06-01T10:00:00Z"}]}
    """#,
    #"""
    {"dataType":"HKWorkoutType","workouts":[
    {"workoutType":"HKWorkoutActivityTypeRunning","sourceName":"\#(String(repeating: "x", count: 200))",
    "durationSeconds":1800,"startTime":"2025-06-01T07:00:00Z","endTime":"2025-06-01T07:30:00Z"}]}
    """#,
  ]

  /// Returns today's date in a time zone that is a day behind the browser's.
  private static func today() throws -> String {
    var calendar = Calendar(identifier: .iso8601)
    calendar.timeZone = try #require(TimeZone(identifier: "Pacific/Niue"))
    let day = calendar.dateComponents([.year, .month, .day], from: Date())
    let parts = try [day.year, day.month, day.day].map { try #require($0) }
    return parts.map { $0 < 10 ? "0\($0)" : "\($0)" }.joined(separator: "-")
  }

  @Test func `a user signs in, selects days, sees their own data and signs out`() async throws {
    let scratch = try Scratch()
    let users =
      "ann \(Self.secret) Etc/UTC\nbo \(Self.otherSecret) Pacific/Niue\n"
      + "cy \(Self.thirdSecret) Europe/Berlin\n"
    try scratch.write(Array(users.utf8), to: "secrets")
    try await BackendRig.run(
      in: scratch("data"),
      {
        $0.syncSecretFile = scratch("secrets")
        $0.assistants.originPolicy.hosts = ["test"]
      }
    ) { rig in
      let client = try rig.client()
      for batch in Self.batches {
        let answer = try await client.ask("POST", "/api/sync", token: Self.secret, body: batch)
        #expect(answer.status == 200, "\(answer.body)")
      }
      let run = try await client.ask(
        "POST", "/api/sync", token: Self.thirdSecret, body: Self.nightRun)
      #expect(run.status == 200)
      let before = try Self.today()
      let seen = try await Browser.visit(
        "http://127.0.0.1:\(rig.address.port)",
        secrets: [Self.secret, Self.otherSecret, Self.thirdSecret], scratch("profile"))
      try Self.checkContent(seen)
      Self.checkFaults(seen)
      try Self.checkOthers(seen, days: [before, try Self.today()])
    }
  }

  private static func checkContent(_ seen: [String: Any]) throws {
    #expect(seen["first"] as? [String] == ["signed-out", "Health"])
    #expect(
      seen["wrong"] as? [String] == ["refused", "The server does not know this secret."])
    #expect(
      seen["shown"] as? [String] == [
        "ready", "3,000 a day on average, 6,000 in all.",
        "80 bpm on average, from 60 to 100. Latest: 100 bpm.",
        "7.5 hours a night on average, 1 night.", "1 workout, 0.5 hours.",
        "Days are those of Etc/UTC.",
      ])
    #expect(seen["bars"] as? [Int] == [2, 2, 1])
    #expect(
      seen["numbers"] as? [String] == ["2026-01-18 4,000 –", "2026-01-20 2,000 –"])
    let workouts = try #require(seen["workouts"] as? String)
    #expect(workouts.hasSuffix("<b id=x>Watch</b>"))
    // The time is in the user's time zone, not in the browser's.
    #expect(workouts.hasPrefix("Jan 19, 2026, 7:00"))
    #expect(seen["markup"] as? Bool == false)
    #expect(
      seen["empty"] as? [String] == [
        "ready", "No steps in this period.", "No heart rates in this period. Latest: 100 bpm.",
        "No nights in this period.", "No workouts in this period.",
        "Days are those of Etc/UTC.",
      ])
    #expect(seen["reloaded"] as? String == "ready")
    #expect(seen["left"] as? [String] == ["signed-out", "null", ""])
    #expect(seen["foreign"] as? [String] == [])
    #expect(seen["complaints"] as? [String] == [])
  }

  /// Checks that the page shows no blank charts or outdated numbers, and that it is not too wide.
  private static func checkFaults(_ seen: [String: Any]) {
    #expect(seen["pictures"] as? [Int] == [0, 0, 0])
    #expect(seen["reversed"] as? [String] == ["failed", "Choose 1 to 3,653 days."])
    #expect(
      seen["future"] as? [String] == [
        "failed", "Nothing could be loaded: from is in the future. Try again.",
      ])
    #expect(
      seen["away"] as? [String] == [
        "failed", "Nothing could be loaded: The server cannot be reached. Try again.",
      ])
    // The data of the previous period are hidden after each failure, and shown again at the end.
    #expect(seen["shownThen"] as? [Bool] == [false, false, false, true])
    #expect(seen["period"] as? String == "From 2026-01-15 to 2026-01-21.")
    #expect(seen["wide"] as? [String] == ["ready", "1E300 a day on average, 1E300 in all.", "390"])
  }

  /// Checks the sign-ins of two other users, and a sign-in with text that cannot be a secret.
  private static func checkOthers(_ seen: [String: Any], days: [String]) throws {
    let other = try #require(seen["other"] as? [String])
    #expect(other.prefix(2) == ["ready", "Days are those of Pacific/Niue."])
    #expect(days.contains(try #require(other.last)))
    let twice = try #require(seen["twice"] as? [String])
    #expect(twice.first == "ready")
    #expect(twice.last?.hasPrefix("Oct 26, 2025, 2:10") == true, "\(twice)")
    #expect(seen["blank"] as? [String] == ["refused", "The server does not know this secret."])
  }
}

/// Headless Chromium, controlled by a script through its debugging pipe.
enum Browser {
  static let binary = ["chromium-headless-shell", "chromium"].lazy.map { "/usr/bin/\($0)" }
    .first { FileManager.default.isExecutableFile(atPath: $0) }

  /// Visits the dashboard of a server and returns the script's observations.
  static func visit(
    _ base: String, secrets: [String], _ profile: String
  ) async throws -> [String: Any] {
    let script = try LabProcess(
      ["python3", "-c", script, binary ?? "", base, profile] + secrets)
    let done = await CommandProcess.outcome(of: script)
    let line = try #require(done.output.last, "\(done.errors)")
    return try #require(
      try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
  }

  private static let script = #"""
    import json, os, subprocess, sys
    binary, base, profile, secret, other, third = sys.argv[1:]
    inner, to = os.pipe()
    back, outer = os.pipe()
    browser = subprocess.Popen(
      ['sh', '-c', 'exec "$@" 3<&%d 4>&%d' % (inner, outer), 'sh', binary, '--headless',
       '--no-sandbox', '--disable-gpu', '--lang=en-US', '--user-data-dir=' + profile,
       '--remote-debugging-pipe', 'about:blank'],
      pass_fds=(inner, outer), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
      env=dict(os.environ, LANGUAGE='en_US', TZ='Pacific/Auckland'))
    os.close(inner); os.close(outer)
    replies = os.fdopen(back, 'rb')
    urls, complaints, rest, number = [], [], b'', 0

    def take():
      global rest
      while b'\0' not in rest:
        more = replies.read1(65536)
        if not more: sys.exit('the browser ended')
        rest += more
      line, rest = rest.split(b'\0', 1)
      message = json.loads(line)
      method, params = message.get('method'), message.get('params', {})
      if method == 'Network.requestWillBeSent': urls.append(params['request']['url'])
      if method == 'Runtime.exceptionThrown': complaints.append(json.dumps(params)[:500])
      if method == 'Log.entryAdded' and not any(
          status in params['entry']['text'] for status in ('400', '401')):
        complaints.append(params['entry']['text'])
      return message

    def call(method, session=None, **params):
      global number
      number += 1
      message = {'id': number, 'method': method, 'params': params}
      if session: message['sessionId'] = session
      os.write(to, json.dumps(message).encode() + b'\0')
      while True:
        reply = take()
        if reply.get('id') == number: return reply['result']

    target = call('Target.createTarget', url='about:blank')['targetId']
    page = call('Target.attachToTarget', targetId=target, flatten=True)['sessionId']
    for domain in 'Network', 'Page', 'Runtime', 'Log': call(domain + '.enable', page)

    def run(code):
      found = call('Runtime.evaluate', page, expression=code, awaitPromise=True,
        returnByValue=True)
      if 'exceptionDetails' in found: sys.exit(json.dumps(found['exceptionDetails']))
      return found['result'].get('value')

    # Until the new document is there.
    def load(method, **params):
      run('window.isOld = true')
      call(method, page, **params)
      while not run("!window.isOld && document.readyState === 'complete'"): pass

    settled = '''new Promise(done => {
      const look = () => document.body.dataset.state !== 'loading'
        && (done(document.body.dataset.state), true);
      if (look()) return;
      const watch = new MutationObserver(() => { if (look()) watch.disconnect(); });
      watch.observe(document.body, { attributes: true });
    })'''
    message = "document.getElementById('message').textContent"
    sentences = '''[...document.querySelectorAll('section > p, #zone')].map(p => p.textContent)'''

    def sign_in(word):
      run("document.getElementById('secret').value = %s;"
        "document.querySelector('#door button').click()" % json.dumps(word))
      return run(settled)

    def period(first, last):
      run("document.getElementById('from').value = '%s';"
        "document.getElementById('to').value = '%s';"
        "document.querySelector('#period button:not([data-days])').click()" % (first, last))
      return run(settled)

    seen = {}
    load('Page.navigate', url=base + '/health')
    seen['first'] = [run(settled), run('document.title')]
    seen['wrong'] = [sign_in('not it'), run(message)]
    sign_in(secret)
    seen['shown'] = [period('2026-01-15', '2026-01-21')] + run(sentences)
    seen['bars'] = run("['steps', 'heart', 'sleep'].map(name => "
      "document.querySelectorAll('#' + name + ' rect').length)")
    seen['numbers'] = run("[...document.querySelectorAll('#steps tbody tr')].map(row => "
      "[...row.cells].map(cell => cell.textContent).join(' '))")
    seen['workouts'] = run("document.querySelector('#workouts tbody tr').textContent")
    seen['markup'] = run("document.getElementById('x') !== null")
    seen['empty'] = [period('2025-01-01', '2025-01-07')] + run(sentences)
    seen['pictures'] = run("[...document.querySelectorAll('svg')].map("
      "picture => picture.getBoundingClientRect().height)")
    is_shown = "document.querySelector('#steps p').getBoundingClientRect().height > 0"
    period('2026-01-15', '2026-01-21')
    seen['reversed'] = [period('2026-01-07', '2026-01-01'), run(message)]
    shown = [run(is_shown)]
    period('2026-01-15', '2026-01-21')
    seen['future'] = [period('2131-01-01', '2131-01-31'), run(message)]
    shown.append(run(is_shown))
    period('2026-01-15', '2026-01-21')
    run("window.usual = window.fetch;"
      "window.fetch = () => Promise.reject(new TypeError('Failed to fetch'))")
    seen['away'] = [period('2026-01-01', '2026-01-02'), run(message)]
    shown.append(run(is_shown))
    run("window.fetch = window.usual")
    call('Emulation.setDeviceMetricsOverride', page, width=390, height=844,
      deviceScaleFactor=1, mobile=True)
    seen['wide'] = [period('2025-06-01', '2025-06-02'),
      run("document.querySelector('#steps p').textContent"),
      run("String(document.documentElement.scrollWidth)")]
    period('2026-01-15', '2026-01-21')
    shown.append(run(is_shown))
    seen['shownThen'] = shown
    seen['period'] = run("document.getElementById('span').textContent")
    load('Page.reload')
    seen['reloaded'] = run(settled)
    run("document.getElementById('leave').click()")
    seen['left'] = [run(settled), run("String(sessionStorage.getItem('secret'))"),
      run("document.getElementById('secret').value")]
    seen['other'] = [sign_in(other), run("document.getElementById('zone').textContent"),
      run("document.getElementById('to').value")]
    run("document.getElementById('leave').click()")
    sign_in(third)
    seen['twice'] = [period('2025-10-26', '2025-10-26'),
      run("document.querySelector('#workouts tbody tr').textContent")]
    run("document.getElementById('leave').click()")
    seen['blank'] = [sign_in('two words'), run(message)]
    seen['foreign'] = [url for url in urls if not url.startswith((base + '/', 'data:'))]
    seen['complaints'] = complaints
    browser.kill()
    print(json.dumps(seen))
    """#
}
