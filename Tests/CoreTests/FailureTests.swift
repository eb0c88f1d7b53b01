import HoldfastCore
import Testing

/// Tests of the class and the texts of each failure, and of whether it means that no server was
/// reached.
@Suite struct FailureTests {
  private static let closes: [(UInt16, FailureClass)] = [
    (999, .closedOther), (1000, .closedNormally), (1001, .closedRestart), (1002, .protocolError),
    (1003, .protocolError), (1004, .closedOther), (1005, .closedOther), (1006, .closedOther),
    (1007, .protocolError), (1008, .closedPolicy), (1009, .protocolError), (1010, .protocolError),
    (1011, .closedOther), (1012, .closedRestart), (1013, .closedRestart), (1014, .closedOther),
    (4400, .closedOther), (4401, .closedUnauthorized), (4402, .closedOther),
    (4403, .closedForbidden), (4404, .closedOther), (4408, .closedOther), (4409, .closedReplaced),
    (4410, .closedOther), (65_535, .closedOther),
  ]
  private static let statuses: [(Int, FailureClass)] = [
    (199, .otherStatus), (302, .otherStatus), (399, .otherStatus), (400, .badRequest),
    (401, .unauthorized), (402, .otherStatus), (403, .forbidden), (404, .notFound),
    (409, .otherStatus), (410, .notFound), (411, .otherStatus), (428, .otherStatus),
    (429, .tooManyRequests), (430, .otherStatus), (499, .otherStatus), (500, .serverError),
    (502, .serverError), (503, .unavailable), (504, .serverError), (599, .serverError),
    (600, .otherStatus),
  ]

  /// A failure of each case, its class, and the same failure with "x" appended to each of its
  /// texts.
  private static let plain: [(LinkFailure, FailureClass, LinkFailure)] = [
    (.unreachable(detail: "d"), .unreachable, .unreachable(detail: "dx")),
    (.dns(detail: "d"), .dns, .dns(detail: "dx")), (.refused, .refused, .refused),
    (.timeout(.silence), .silent, .timeout(.silence)), (.timeout(.pong), .silent, .timeout(.pong)),
    (.timeout(.write), .timeout, .timeout(.write)),
    (.tls(.expired, detail: "d"), .tls, .tls(.expired, detail: "dx")), (.reset, .reset, .reset),
    (.ended, .ended, .ended),
    (.closed(code: 1000, reason: "r"), .closedNormally, .closed(code: 1000, reason: "rx")),
    (
      .http(status: 503, retryAfter: .seconds(7), detail: "d"), .unavailable,
      .http(status: 503, retryAfter: .seconds(7), detail: "dx")
    ),
    (.protocolError(detail: "d"), .protocolError, .protocolError(detail: "dx")),
    (.proxy(detail: "d"), .proxy, .proxy(detail: "dx")),
    (.captivePortal, .captivePortal, .captivePortal),
    (.local(detail: "d"), .local, .local(detail: "dx")),
  ]

  @Test(arguments: plain)
  func `each failure has its class and retry-after, and its texts can be mapped`(
    failure: LinkFailure, row: FailureClass, changed: LinkFailure
  ) {
    #expect(failure.failureClass == row)
    #expect(failure.mapText { $0 + "x" } == changed)
    #expect(failure.retryAfter == (row == .unavailable ? .seconds(7) : nil))
  }

  @Test func `each close code, HTTP status and time-out phase has its failure class`() {
    for (code, row) in Self.closes {
      #expect(LinkFailure.closed(code: code, reason: "").failureClass == row, "\(code)")
    }
    for (status, row) in Self.statuses {
      let failure = LinkFailure.http(status: status, retryAfter: nil, detail: "")
      #expect(failure.failureClass == row, "\(status)")
    }
    for phase in LinkFailure.Phase.allCases {
      let isSilent = phase == .silence || phase == .pong
      #expect(LinkFailure.timeout(phase).failureClass == (isSilent ? .silent : .timeout))
    }
  }

  @Test func `only some failures mean that no server was reached`() {
    let reached: Set<FailureClass> = [
      .tls, .protocolError, .badRequest, .unauthorized, .forbidden, .notFound, .tooManyRequests,
      .otherStatus, .closedNormally, .closedPolicy, .closedUnauthorized, .closedForbidden,
      .closedReplaced, .closedOther,
    ]
    var failures = Self.plain.map(\.0)
    failures += Self.closes.map { LinkFailure.closed(code: $0.0, reason: "") }
    failures += Self.statuses.map { LinkFailure.http(status: $0.0, retryAfter: nil, detail: "") }
    #expect(Set(failures.map(\.failureClass)) == Set(FailureClass.allCases))
    for failure in failures {
      #expect(failure.meansServerUnreachable == !reached.contains(failure.failureClass))
    }
  }

  @Test func `each device change becomes an input of the link`() {
    #expect(HeldLink.Input(DeviceChange.again) == .setIntent(.live))
    #expect(HeldLink.Input(DeviceChange.woke) == .trigger(.woke))
    #expect(HeldLink.Input(DeviceChange.lifecycle(.background)) == .lifecycle(.background))
  }

  @Test func `adding a duration to a time saturates at 64 bits`() {
    var generator = RandomSource(seed: 54)
    for _ in 0..<1_000 {
      let (one, other) = (Int64(bitPattern: generator.next()), Int64(bitPattern: generator.next()))
      let sum = min(max(Int128(one) + Int128(other), Int128(Int64.min)), Int128(Int64.max))
      let step = Duration.nanoseconds(other)
      #expect(Int128(Instant(nanoseconds: one).advanced(by: step).nanoseconds) == sum)
      #expect(Int128(Timestamp(nanoseconds: one).advanced(by: step).nanoseconds) == sum)
    }
  }
}
