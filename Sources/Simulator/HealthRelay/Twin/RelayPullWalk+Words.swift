import HealthRelay
import LinkCore
import LinkHealth
import LinkJSON
import LinkWire

// What the backend answers to a pull.
extension RelayPullWalk {
  /// Answers a lease, at times as its shell reads the bytes of a body.
  mutating func lease(_ step: StepID) {
    if happens(12) { return give(.failed(step, unreadable())) }
    let page = page()
    if happens(3), let fault = misreading(of: page) { stray = stray ?? fault }
    give(.leased(step, page))
  }

  /// Returns none, some, or about as many as were ordered, for about as long as is needed.
  mutating func page() -> LeasedQuestions {
    let most = twin.numbers.most
    let count = one([0, 1, 1, 2, 2, most, most + 1])
    let questions = (0..<count).map { _ in question() }
    let unread = (0..<one([0, 0, 0, 1, 2])).map { _ in rejected() }
    let (least, sending) = (twin.numbers.least, twin.numbers.sending)
    let past = twin.asked.duration(to: now)
    let times: [Duration] = [
      .zero, .seconds(6), .seconds(10), .seconds(25), .seconds(25), .seconds(60), .seconds(86_400),
      past + least + beside(), past + least + sending + beside(),
      past + least + sending + .seconds(1),
    ]
    return LeasedQuestions(questions: questions, expiresIn: one(times), rejected: unread)
  }

  private mutating func name() -> RelayRequestID {
    lastQuestion += 1
    guard let id = RelayRequestID("q\(lastQuestion)") else {
      preconditionFailure("it has few bytes")
    }
    return id
  }

  private mutating func question() -> LeasedQuestion {
    let id = name()
    let time = HealthTime.instant(Timestamp(nanoseconds: 0), minutesEast: nil)
    let question: HealthQuestion =
      happens(3)
      ? .summary(SummaryQuery(start: time, end: time))
      : .healthData(HealthDataQuery(valueType: .steps, start: time, end: time))
    return LeasedQuestion(id: id, question: question, lease: "lease \(id)")
  }

  /// Returns a question that cannot be read, for one of the faults that can be.
  private mutating func rejected() -> LeasedQuestions.Rejected {
    let faults: [FieldFault] = [
      .missing(field: "payload"), .wrongType(field: "payload"), .badDate(field: "start"),
      .outOfBounds(field: "max_points"), .malformed(detail: "no object"),
      .unknownWord(field: "value_type", known: ["steps", "weight"]),
    ]
    var error = RelayWireError(one(faults), id: name(), kind: one([.healthData, .summary]))
    if happens(3) {
      let known = ["health_data_request", "summary_request"]
      error.fault = .unknownWord(field: "type", known: known)
      error.kind = nil
      if happens(3) { error.id = nil }
    }
    return LeasedQuestions.Rejected(lease: "lease \(lastQuestion)", error: error)
  }

  // Bodies.

  /// Tells how a page is read otherwise from its body than it was written.
  private func misreading(of page: LeasedQuestions) -> String? {
    var found = page
    found.questions = []
    found.rejected = []
    found.expiresIn = .seconds(min(page.expiresIn.components.seconds, 86_400))
    var parts: [String] = []
    for leased in page.questions {
      let kind = leased.question.kind == .summary ? "summary_request" : "health_data_request"
      let payload = Self.text(leased.question.payload)
      parts.append(Self.element(leased.id, kind, payload, leased.lease))
      found.questions.append(leased)
    }
    for one in page.rejected {
      guard let id = one.error.id else { continue }
      let known = ["health_data_request", "summary_request"]
      let error = RelayWireError(.unknownWord(field: "type", known: known), id: id)
      parts.insert(Self.element(id, "mood_request", "{}", one.lease), at: 0)
      found.rejected.insert(LeasedQuestions.Rejected(lease: one.lease, error: error), at: 0)
    }
    let seconds = min(page.expiresIn.components.seconds, 86_400)
    let body = #"{"requests":[\#(parts.joined(separator: ","))],"lease_expires_in":\#(seconds)}"#
    return Self.difference(try? LeasedQuestions.read(Array(body.utf8)), found, of: body)
  }

  /// Tells how a body is read otherwise than it must be.
  static func difference(
    _ read: LeasedQuestions?, _ must: LeasedQuestions, of body: String
  ) -> String? {
    read == must ? nil : "a body of leases is read as \(String(describing: read)): \(body)"
  }

  private static func element(
    _ id: RelayRequestID, _ type: String, _ payload: String, _ lease: String
  ) -> String {
    #"{"request_id":"\#(id)","type":"\#(type)","payload":\#(payload),"lease":"\#(lease)"}"#
  }

  private mutating func unreadable() -> LinkFailure {
    unreadable(
      one([
        "", "{", "[]", "<html>", #"{"requests":[]}"#, #"{"lease_expires_in":25}"#,
        #"{"requests":{},"lease_expires_in":25}"#, #"{"requests":[1],"lease_expires_in":25}"#,
        #"{"requests":[{"lease":"l"}],"lease_expires_in":25}"#,
        #"{"requests":[{"request_id":"q"}],"lease_expires_in":25}"#,
        #"{"requests":[],"lease_expires_in":-1}"#, #"{"requests":[],"lease_expires_in":86401}"#,
      ]))
  }

  /// Returns what the shell makes of a body that is no page, and notes one that is read.
  mutating func unreadable(_ body: String) -> LinkFailure {
    do throws(RelayWireError) {
      let page = try LeasedQuestions.read(Array(body.utf8))
      stray = stray ?? "a body is read as \(page): \(body)"
    } catch {
      return .protocolError(detail: "the questions could not be read: \(error)")
    }
    return .ended
  }

  // Failures.

  /// Returns a failure; most pass, and most others are statuses with a rule of their own.
  mutating func failure() -> LinkFailure {
    let isLease = twin.deed == .lease
    if let habit, !isLease, !happens(3) {
      return .http(status: habit, retryAfter: maybe(.zero), detail: "")
    }
    if isLease, twin.numbers.least <= .zero, happens(2) {
      return .http(status: 503, retryAfter: max(.zero, room + beside()), detail: "")
    }
    if happens(isLease ? 3 : 6) { return one(Self.failures) }
    if happens(isLease ? 2 : 4) {
      return .http(status: one([429, 503, 500]), retryAfter: wish(), detail: "")
    }
    let status = one(Self.statuses)
    return .http(status: status, retryAfter: happens(4) ? wish() : nil, detail: "refused")
  }

  private static let statuses = [
    204, 302, 399, 400, 401, 403, 404, 405, 407, 408, 409, 409, 410, 413, 413, 413, 422, 428, 429,
    430, 499, 500, 501, 501, 502, 503, 511, 599, 600, 816,
  ]

  private static let failures: [LinkFailure] =
    LinkFailure.Phase.allCases.map { .timeout($0) } + [
      .unreachable(detail: "no way"), .dns(detail: ""), .refused, .reset, .reset, .ended,
      .proxy(detail: ""), .tls(.expired, detail: ""), .closed(code: 1_001, reason: ""),
      .closed(code: 1_008, reason: ""), .protocolError(detail: "odd"), .captivePortal,
      .local(detail: "no memory"),
    ]

  /// The longest wait that leaves just the least time.
  private var room: Duration { now.duration(to: twin.bound) - twin.numbers.least }

  /// Returns a wish of the backend: about a wait, or about all the time that there is.
  private mutating func wish() -> Duration {
    let waits = twin.numbers.waits
    let wait = twin.failures < waits.count ? waits[twin.failures] : .zero
    let wish = one([
      .zero, wait, wait, room, room, room, room, room, .seconds(2), .seconds(60), .seconds(61),
      .seconds(600),
      .seconds(3_600), .seconds(7_200),
    ])
    return max(.zero, wish + beside())
  }
}
