import LinkCore

/// Failures of all kinds, and what follows from them, told a second time.
struct FailureWalk: TwinWalk {
  var chance: Chance
  var stray: String?

  private static let policies = LinkPolicy.presets

  init(_ chance: Chance) { self.chance = chance }

  /// Tries so many failures and watches; returns the first difference.
  mutating func walk(_ times: Int) -> String? {
    for _ in 0..<times where stray == nil {
      for _ in 0..<8 { tryFailure() }
      for _ in 0..<3 { tryPage() }
      tryDevice()
      watch(20)
    }
    return stray
  }

  // Values.

  private mutating func failure() -> LinkFailure {
    let text = one(["", "a"])
    switch number(0...21) {
    case 0: return .unreachable(detail: text)
    case 1: return .dns(detail: text)
    case 2: return .refused
    case 3...5: return .timeout(one(LinkFailure.Phase.allCases))
    case 6: return .tls(one(LinkFailure.TLSReason.allCases), detail: text)
    case 7: return .reset
    case 8: return .ended
    case 9...12:
      let codes = Array(999...1_016) + [4_000, 4_400, 4_401, 4_402, 4_403, 4_404, 4_408, 4_409]
      return .closed(code: UInt16(one(codes)), reason: text)
    case 13...17:
      let statuses =
        Array(399...405) + [409, 410, 411, 428, 429, 430, 499, 500, 502, 503, 504, 599, 600, 302]
      return .http(status: one(statuses), retryAfter: wish(), detail: text)
    case 18: return .protocolError(detail: text)
    case 19: return .proxy(detail: text)
    case 20: return .captivePortal
    case _: return .local(detail: text)
    }
  }

  private mutating func wish() -> Duration? {
    one([nil, .zero, .seconds(-1), .seconds(number(1...99_999))])
  }

  private mutating func way() -> Reachability {
    let traits = PathTraits(rawValue: UInt8(number(0...15)))
    return one([
      .unreachable, .captivePortal, .reachable(path: PathID("a"), traits: traits),
      .reachable(path: PathID("b")),
    ])
  }

  // What is tried.

  private mutating func tryFailure() {
    let failure = failure()
    compareClass(
      failure.failureClass, wish: failure.serverWish, isNews: failure.meansServerUnreachable,
      of: failure)
    compareText(failure.mapText { $0 + "b" }, of: failure)
    let policy = one(Self.policies)
    compareVerdict(policy.verdict(on: failure), of: policy, on: failure)
    let wish = wish()
    compareWish(policy.retry.obeyed(wish), of: policy, wish)
    let (left, right) = (one(FailureClass.allCases), one(FailureClass.allCases))
    compare("the order of \(left) and \(right)", left < right, left.rawValue < right.rawValue)
  }

  mutating func compareClass(
    _ row: FailureClass, wish: Duration?, isNews: Bool, of failure: LinkFailure
  ) {
    compare("the class of \(failure)", row, FailureAccount.row(failure))
    compare("the wish of \(failure)", wish, FailureAccount.wish(failure))
    compare(
      "whether \(failure) means that there is no server", isNews,
      FailureAccount.meansUnreachable(failure))
  }

  /// Compares a failure each of whose texts was made longer by a "b".
  mutating func compareText(_ found: LinkFailure, of failure: LinkFailure) {
    compare("\(failure), changed,", FailureAccount.frame(found), FailureAccount.frame(failure))
    compare(
      "\(failure), changed,", FailureAccount.texts(found),
      FailureAccount.texts(failure).map { $0 + "b" })
  }

  mutating func compareVerdict(
    _ found: Verdict, of policy: LinkPolicy, on failure: LinkFailure
  ) {
    let verdict = policy.verdicts[FailureAccount.row(failure)] ?? .retry
    // A server that names a time offers the link.
    let isBack = verdict == .standbySlow && FailureAccount.wish(failure) != nil
    compare(
      "what \(policy.name) does about \(failure)", found, isBack ? .retrySpread : verdict)
  }

  mutating func compareWish(_ found: Duration?, of policy: LinkPolicy, _ wish: Duration?) {
    let least = wish.map { $0 < .zero ? .zero : $0 }
    compare(
      "what \(policy.name) obeys of \(wish ?? .zero)", found,
      least.map { $0 > policy.retry.longestWish ? policy.retry.longestWish : $0 })
  }

  private mutating func tryPage() {
    let status = one([
      199, 200, 204, 299, 300, 301, 302, 303, 304, 305, 306, 307, 308, 309, 400, 404, 500, 510, 511,
      512,
    ])
    let type = one([nil, "text/html", "Text/HTML; charset=utf-8", "text/plain", " text/html", ""])
    compare(
      "whether \(status) \(type ?? "-") is a login page",
      LinkFailure.isLoginPage(status: status, contentType: type),
      FailureAccount.isLoginPage(status, type))
    let (location, host): (String?, String?) = one([
      (nil, nil), ("", nil), ("/login", nil), ("https://Host/a", "host"), ("//host", "host"),
      ("http://host:8080/a?b", "host"), ("https://user@host/", "host"),
      ("https://a:b@c@host#x", "host"), ("https://other", "other"), ("https://[::1]:80/", "::1"),
      ("https://[FE80::2]", "fe80::2"), ("https://host?x//y", "host"), ("a//host", nil),
      ("https://host.other/", "host.other"), ("/a?to=//other/", nil), ("a/b//other", nil),
      ("https:/other", nil), ("/login?to=https://other/", nil), ("#https://other/", nil),
    ])
    let (asked, plain) = one([
      ("host", "host"), ("HOST", "host"), ("other", "other"), ("[::1]", "::1"), ("::1", "::1"),
      ("[fe80::2]", "fe80::2"),
    ])
    compare(
      "whether \(status) \(type ?? "-") to \(location ?? "-") from \(asked) is a login page",
      PortalWatch.isLoginPage(
        status: status, contentType: type, location: location, host: asked),
      FailureAccount.isLoginPage(status, type, host: host, asked: plain))
  }

  private mutating func tryDevice() {
    let way = way()
    compare("what \(way) costs", way.traits, FailureAccount.traits(way))
    let bits = [PathTraits.cellular, .expensive, .constrained, .onDemand].map { $0.rawValue }
    compare("the bits of what a way costs", bits, [1, 2, 4, 8])
    let change: DeviceChange = one([
      .again, .woke, .reachability(way), .lifecycle(.foreground), .lifecycle(.background),
    ])
    compare("what \(change) means", HeldLink.Input(change), FailureAccount.input(change))
  }

  /// A watch for login pages, in steps by chance.
  private mutating func watch(_ steps: Int) {
    let probe: Duration? = happens(5) ? nil : .seconds(1)
    let policy = PortalPolicy(probe: probe, wait: .seconds(number(1...2)))
    var gate = Self.policies[0].gate
    gate.portal = happens(9) ? nil : policy
    var (found, must) = (PortalWatch(gate), FailurePortal(gate.portal))
    var now = Instant.zero
    for _ in 0..<steps where stray == nil {
      now = now.advanced(by: .seconds(number(0...2)))
      switch number(0...7) {
      case 0...3:
        let failure = happens(2) ? .reset : failure()
        compare(
          "the check after \(failure)", found.tryEnded(by: failure, at: now),
          must.tryEnded(failure, now))
      case 4...5:
        let isPortal = happens(2)
        compare(
          "whether a link is held", found.checked(isPortal: isPortal, at: now),
          must.checked(isPortal, now))
      case 6:
        let way = way()
        found.note(way)
        must.note(way)
      case _: compare("what a link is told", found.release(), must.release())
      }
      compareWatch(found, must)
    }
  }

  mutating func compareWatch(_ found: PortalWatch, _ must: FailurePortal) {
    compare("the watch's deadline", found.deadline, must.heldUntil)
  }
}
