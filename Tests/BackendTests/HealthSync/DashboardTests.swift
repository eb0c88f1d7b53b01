import Foundation
import HoldfastAssistants
import HoldfastBackend
import HoldfastCore
import HoldfastMessageData
import HoldfastServerParts
import HoldfastTestKit
import Testing

/// Tests of `GET /health` in a headless browser.
@Suite(
  .enabled(if: Browser.binary != nil, "chromium-headless-shell is not installed"),
  .offThePool, .timeLimit(.minutes(60)))
struct DashboardTests {
  private static let secret = "hush-hush-hush-hush"
  private static let otherSecret = "geschlüsselt-🔑"
  private static let thirdSecret = "the-third-of-three"

  /// A run during the second occurrence of the hour that repeats when clocks go back in Berlin.
  private static let nightRun = #"""
    {"dataType":"HKWorkoutType","workouts":[
    {"workoutType":"HKWorkoutActivityTypeRunning","sourceName":"Watch","durationSeconds":1800,
    "startTime":"2025-10-26T01:10:00Z","endTime":"2025-10-26T01:40:00Z"}]}
    """#

  /// Two days of steps, and a workout whose source name looks like markup.
  private static let batches = [
    #"""
    {"dataType":"HKQuantityTypeIdentifierStepCount","records":[
    {"recordType":"HKQuantityTypeIdentifierStepCount","sourceName":"Watch","value":4000,
    "unit":"count","startTime":"2026-01-18T09:00:00Z","endTime":"2026-01-18T10:00:00Z"},
    {"recordType":"HKQuantityTypeIdentifierStepCount","sourceName":"Watch","value":2000,
    "unit":"count","startTime":"2026-01-20T09:00:00Z","endTime":"2026-01-20T10:00:00Z"}]}
    """#,
    #"""
    {"dataType":"HKWorkoutType","workouts":[
    {"workoutType":"HKWorkoutActivityTypeRunning","sourceName":"<b id=x>Watch</b>",
    "durationSeconds":1800,"totalDistance":5,
    "startTime":"2026-01-19T07:00:00Z","endTime":"2026-01-19T07:30:00Z"}]}
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
      let seen = try await Browser.run(
        Self.script, at: "http://127.0.0.1:\(rig.address.port)", scratch("profile"),
        [Self.secret, Self.otherSecret, Self.thirdSecret])
      try Self.checkContent(seen)
      try Self.checkOthers(seen, days: [before, try Self.today()])
    }
  }

  /// The users of `check_dashboard.py`, with their zones.
  private static let users = [
    ("usual", "Etc/UTC"), ("empty", "Etc/UTC"), ("clocks", "Europe/Berlin"), ("odd", "Etc/UTC"),
    ("today", "Pacific/Niue"), ("long", "Etc/UTC"),
  ]

  @Test(.enabled(if: PageCheck.isInstalled, "\(PageCheck.remedy)"))
  func `the page shows what was synced, and holds in each size, color and zone`() async throws {
    let scratch = try Scratch()
    let lines = Self.users.map { "\($0.0) secret-of-\($0.0)-0123456789 \($0.1)" }
    try scratch.write(Array(lines.joined(separator: "\n").utf8), to: "secrets")
    try await BackendRig.run(
      in: scratch("data"),
      { $0.syncSecretFile = scratch("secrets") }
    ) { rig in
      let done = try await PageCheck.run(
        "check_dashboard.py",
        ["http://127.0.0.1:\(rig.address.port)"]
          + Self.users.map { "secret-of-\($0.0)-0123456789" })
      for line in done.output where line.hasPrefix("✗") { Issue.record("\(line)") }
      #expect(done.status == 0, "\(done.errors.suffix(20).joined(separator: "\n"))")
      #expect(done.output.count(where: { $0.hasPrefix("✓") }) >= 80)
    }
  }

  private static func checkContent(_ seen: [String: Any]) throws {
    #expect(seen["first"] as? [String] == ["signed-out", "Health"])
    #expect(
      seen["wrong"] as? [String] == ["refused", "The server does not know this secret."])
    // The newest day was not over, so it is not part of the mean.
    #expect(
      seen["shown"] as? [String] == [
        "ready", "4,000 steps a day", "22 Dec 2025 to 20 Jan 2026",
        "Tue 20 Jan 2026: 2,000 steps, the day was not over when last synced",
        "Days are those of Etc/UTC. Not synced: heart rate, sleep, resting heart rate.",
      ])
    // The time is in the user's time zone, not in the browser's.
    #expect(
      seen["workouts"] as? String
        == "Mon 19 Jan 2026|07:00|Running|30 min|8.05 km|–|<b id=x>Watch</b>")
    #expect(seen["markup"] as? Bool == false)
    #expect(seen["reloaded"] as? String == "ready")
    #expect(seen["left"] as? [String] == ["signed-out", "null", "", ""])
    #expect(seen["foreign"] as? [String] == [])
    #expect(seen["complaints"] as? [String] == [])
  }

  /// Checks the sign-ins of two other users, and a sign-in with text that cannot be a secret.
  private static func checkOthers(_ seen: [String: Any], days: [String]) throws {
    let other = try #require(seen["other"] as? [String])
    #expect(other.prefix(2) == ["ready", "Days are those of Pacific/Niue."])
    #expect(days.contains(try #require(other.last)))
    let twice = try #require(seen["twice"] as? [String])
    #expect(twice.first == "ready")
    #expect(twice.last?.hasPrefix("Sun 26 Oct 2025|02:10 +01:00|") == true, "\(twice)")
    #expect(seen["blank"] as? [String] == ["refused", "The server does not know this secret."])
  }

  private static let script = #"""
    settled = '''new Promise(done => {
      const look = () => document.body.dataset.state !== 'loading'
        && (done(document.body.dataset.state), true);
      if (look()) return;
      const watch = new MutationObserver(() => { if (look()) watch.disconnect(); });
      watch.observe(document.body, { attributes: true });
    })'''
    message = "document.getElementById('message').textContent"
    zone = "document.getElementById('zone').textContent"
    row = ("[...document.querySelector('[data-type=HKWorkoutTypeIdentifier] tbody tr').cells]"
      ".map(cell => cell.textContent).join('|')")

    def steps(part):
      return run("document.querySelector('[data-type$=StepCount] %s').textContent" % part)

    def sign_in(word):
      run("document.getElementById('secret').value = %s;"
        "document.querySelector('#door button').click()" % json.dumps(word))
      return run(settled)

    secret, other, third = given
    seen = {}
    load('Page.navigate', url=base + '/health')
    seen['first'] = [run(settled), run('document.title')]
    seen['wrong'] = [sign_in('not it'), run(message)]
    seen['shown'] = [sign_in(secret), steps('.big'), run("document.getElementById('range').value"),
      run("document.querySelector('[data-type$=StepCount] .slider')"
        ".getAttribute('aria-valuetext')"), run(zone)]
    seen['workouts'] = run(row)
    seen['markup'] = run("document.getElementById('x') !== null")
    load('Page.reload')
    seen['reloaded'] = run(settled)
    run("document.getElementById('leave').click()")
    seen['left'] = [run(settled), run("String(sessionStorage.getItem('secret'))"),
      run("document.getElementById('secret').value"),
      run("document.getElementById('cards').innerHTML")]
    seen['other'] = [sign_in(other), run(zone), run("document.getElementById('to').value")]
    run("document.getElementById('leave').click()")
    seen['twice'] = [sign_in(third), run(row)]
    run("document.getElementById('leave').click()")
    seen['blank'] = [sign_in('two words'), run(message)]
    seen['foreign'] = [url for url in urls if not url.startswith((base + '/', 'data:'))]
    seen['complaints'] = complaints
    """#
}
