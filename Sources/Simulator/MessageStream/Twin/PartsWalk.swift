import LinkCore
import LinkServerCore
import LinkWire

/// What the servers of all services share, each beside what documents say of it.
struct PartsWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many values of each; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    compare("a slow reader", Closure.slowReader, Closure(1013, "slow reader"))
    compare("json", lines(HTTPFields.json), Self.json)
    compare(
      "a route of sockets", lines(HTTPFields.upgradeRequired),
      ["Upgrade: websocket", "Sec-WebSocket-Version: 13"])
    for _ in 0..<times where stray == nil {
      tryTimes()
      tryRefusal()
      tryHealth()
      tryPage()
    }
    return stray
  }

  static let json = ["Content-Type: application/json", "Cache-Control: no-store"]

  private func lines(_ fields: [(String, String)]) -> [String] { Self.lines(fields) }

  static func lines(_ fields: [(String, String)]) -> [String] {
    fields.map { name, value in "\(name): \(value)" }
  }

  /// The header fields that a status, a time and methods need.
  static func fields(_ status: Int, _ again: Duration?, _ allow: String?) -> [String] {
    var lines: [String] = []
    if status == 401 { lines = ["WWW-Authenticate: Bearer"] }
    if let allow { lines.append("Allow: " + allow) }
    if let again { lines.append("Retry-After: \(seconds(again))") }
    return lines
  }

  /// The fewest whole seconds from 1 on that are no shorter.
  static func seconds(_ time: Duration) -> Int64 {
    var seconds = max(1, time.components.seconds)
    while .seconds(seconds) < time { seconds += 1 }
    return seconds
  }

  // What is tried.

  private mutating func time() -> Duration {
    let base: Duration = one([.zero, .milliseconds(4), .seconds(1), .seconds(2), .seconds(70)])
    return base
      + one([
        .zero, .zero, .nanoseconds(1), .milliseconds(1), .nanoseconds(-1), .milliseconds(-500),
        .microseconds(999_999), .milliseconds(1_250),
      ])
  }

  private mutating func tryTimes() {
    let time = time()
    let long = max(time, .zero)
    compareTime(time.retrySeconds, Closure.draining(within: long), of: time, long)
    let token = UInt64(number(0...9))
    compare("a token", StoreToken(token).number, token)
    let other = UInt64(number(0...9))
    compare("whether one is older", StoreToken(token) < StoreToken(other), token < other)
  }

  /// Compares a time in whole seconds, and the notice of a drain within a time.
  mutating func compareTime(
    _ seconds: Int64, _ drain: Closure, of time: Duration, _ long: Duration
  ) {
    compare("\(time) in seconds", seconds, Self.seconds(time))
    let milliseconds =
      long.components.seconds * 1_000 + long.components.attoseconds / 1_000 / 1_000
      / 1_000 / 1_000 / 1_000
    compare(
      "a drain within \(long)", drain, Closure(1001, "draining within_ms=\(milliseconds)"))
  }

  private mutating func tryRefusal() {
    let status = one([400, 401, 401, 403, 404, 405, 426, 429, 503])
    let words = one(["no", "not \"here\"", ""])
    let (again, allow) = (happens(2) ? time() : nil, happens(2) ? "GET, HEAD" : nil)
    let refusal = HTTPRefusal(status, words, retryAfter: again, allow: allow)
    compareRefusal(refusal.headers, refusal.bytes, of: refusal)
    compare(
      "the fields of \(status)",
      lines(HTTPFields.of(status: status, retryAfter: again, allow: allow)),
      Self.fields(status, again, allow))
  }

  /// Compares the header fields and the body of a refusal.
  mutating func compareRefusal(
    _ fields: [(String, String)], _ body: [UInt8], of refusal: HTTPRefusal
  ) {
    compare(
      "the fields of \(refusal)", lines(fields),
      Self.json + Self.fields(refusal.status, refusal.retryAfter, refusal.allow))
    compare(
      "the body of \(refusal)", Self.text(body),
      StreamScribe.envelope(refusal.status, refusal.message, .null).json)
  }

  // Health.

  private static let failures: [(StoreFailure, String)] = [
    (.full(detail: "/a"), "the disk of the log is full"),
    (.locked(detail: "/a"), "another program holds the log"),
    (.corrupt(detail: "/a"), "the log is damaged"),
    (.fromTheFuture(found: 2, supported: 1), "the log is of a newer version"),
    (.denied(detail: "/a"), "the log cannot be written"), (.other(detail: "/a"), "the log failed"),
  ]

  private mutating func tryHealth() {
    let health: ServiceHealth = one([.ok, .ok, .draining, .failing(reason: "odd \"x\"")])
    let (failure, reason) = one(Self.failures)
    compareChecks(
      [
        health.checked(failure, of: "the log"), health.checked(nil, of: "the log"),
        health.unanswered(by: "the log"),
      ], of: health, reason)
    compareHealth(health.status, health.bytes, of: health)
    let all: [ServiceHealth] = (0..<number(0...3)).map { place in
      one([.ok, .failing(reason: "\(place)"), .failing(reason: "b"), happens(3) ? .draining : .ok])
    }
    compareAll(ServiceHealth.overall(all), of: all)
  }

  /// Compares what becomes of a health by a failure of the log, by none and by no answer.
  mutating func compareChecks(
    _ found: [ServiceHealth], of health: ServiceHealth, _ reason: String
  ) {
    let silence = ServiceHealth.failing(reason: "the log does not answer")
    compare(
      "\(health), checked,", found,
      health == .ok ? [.failing(reason: reason), .ok, silence] : [health, health, health])
  }

  mutating func compareHealth(_ status: Int, _ body: [UInt8], of health: ServiceHealth) {
    compare("the status of \(health)", status, health == .ok ? 200 : 503)
    let must =
      switch health {
      case .ok: #"{"status":"ok"}"#
      case .draining: #"{"status":"draining"}"#
      case .failing: #"{"status":"failing","reason":"odd \"x\""}"#
      }
    compare("the body of \(health)", Self.text(body), must)
  }

  mutating func compareAll(_ found: ServiceHealth, of all: [ServiceHealth]) {
    compare("\(all) together", found, overall(all))
  }

  private func overall(_ all: [ServiceHealth]) -> ServiceHealth {
    var reasons = ""
    for health in all {
      switch health {
      case .ok: continue
      case .draining: return .draining
      case .failing(let reason): reasons += reasons == "" ? reason : "; " + reason
      }
    }
    return reasons == "" ? .ok : .failing(reason: reasons)
  }

  // Metrics.

  private mutating func tryPage() {
    var (page, more) = (MetricsPage(), RequestCounts())
    var answers: [PartsPage.Answer] = []
    compare("counts of nothing", more == page.requests, true)
    for _ in 0..<number(0...8) {
      let bound: Duration = .milliseconds(one([0, 5, 25, 100, 500, 2_500, 3_000]))
      let rest: Duration = one([.zero, .microseconds(999), .milliseconds(1), .milliseconds(17)])
      let answer = PartsPage.Answer(
        route: one(["send", "all", "a"]), status: one([200, 404, 503]), time: bound + rest)
      answers.append(answer)
      if happens(2) {
        page.requests.answered(answer.route, status: answer.status, after: answer.time)
      } else {
        more.answered(answer.route, status: answer.status, after: answer.time)
      }
    }
    page.requests.add(more)
    if happens(4) { page.requests.add(RequestCounts()) }
    comparePage(page.text, page.text, of: answers)
  }

  /// Compares a page that is read twice.
  mutating func comparePage(_ text: String, _ again: String, of answers: [PartsPage.Answer]) {
    var must = PartsPage()
    must.add(answers)
    compare("a page of metrics", text, must.text)
    compare("a page that is read twice", again, must.text)
  }
}
